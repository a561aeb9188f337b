"""What Google's TPUs do in another way than CUDA."""

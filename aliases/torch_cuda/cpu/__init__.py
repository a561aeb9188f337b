"""What torch.cuda means on the CPU: one device whose work is done when the call returns."""

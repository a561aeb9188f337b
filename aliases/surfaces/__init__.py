"""Recorded public names and signatures of torch.cuda and of the vendors' modules."""

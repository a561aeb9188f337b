"""Adapters for torch.cuda: those that several vendors share here, a vendor's own in its folder."""

"""Adapters for torch.cuda: those shared by several vendors here, those of one vendor in its folder."""

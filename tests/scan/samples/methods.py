"""CUDA methods of tensors and modules."""
import numba
import torch

model = torch.nn.Linear(1, 1).cuda()  #: .cuda()
x = [batch.cuda(non_blocking=True) for batch in ()]  #: .cuda()
y = torch.zeros(1)
y.grad.is_cuda, torch.nn.Linear(1, 1).weight.cuda()  #: .is_cuda, .cuda()
(x[0] if x[0].is_cuda else x[0].cuda(0))  #: .is_cuda, .cuda()
numba.cuda()


class Settings:
    cuda = True


print(Settings.cuda)

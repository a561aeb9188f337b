"""Names from star imports."""
from torch import *
from torch.cuda import *  #: torch.cuda

synchronize()  #: torch.cuda.synchronize
zeros(2, device="cuda")  #: "cuda"
torch.cuda.init()  #: torch.cuda.init
print(len([]))

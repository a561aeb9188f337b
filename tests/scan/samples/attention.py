"""Uses that a person must look at."""
import asyncio
import ctypes
import ctypes.util
import os
import shutil
import subprocess
from subprocess import run as start

import cupy as cp  #: cupy nvidia-package
import numba.cuda  #: numba.cuda nvidia-package
import torch
import triton
import triton.language as tl
from numba import cuda, njit  #: numba.cuda nvidia-package
from setuptools import setup
from torch.utils import cpp_extension
from torch.utils.cpp_extension import BuildExtension, CUDAExtension, CppExtension, load_inline
from torch.utils.cpp_extension import CUDA_HOME  #: torch.utils.cpp_extension.CUDA_HOME cuda-extension

try:
    import pycuda.driver  #: pycuda nvidia-package
except ImportError:
    pycuda = None

load_inline("f", cpp_sources="", cuda_sources="__global__ void f() {}")  #: torch.utils.cpp_extension.load_inline(cuda_sources=...) inline-cuda
load_inline("f", cpp_sources="int f() { return 1; }")
cpp_extension.load(name="g", sources=["g.cpp", "g_kernel.cu"])  #: torch.utils.cpp_extension.load('g_kernel.cu') inline-cuda
cpp_extension.load(name="g", sources=["g.cpp"])
setup(
    name="ext",
    extras_require={"cuda": ["cupy"]},
    ext_modules=[
        CUDAExtension("ext", ["ext.cu"]),  #: torch.utils.cpp_extension.CUDAExtension cuda-extension
        CppExtension("host", ["host.cpp"]),
    ],
    cmdclass={"build_ext": BuildExtension},
)
cp.RawKernel("", "f")  #: cupy.RawKernel() cupy-kernel

subprocess.check_output(["nvidia-smi", "-L"])  #: subprocess.check_output('nvidia-smi') nvidia-command
start("/usr/bin/nvidia-smi --query-gpu=name", shell=True)  #: subprocess.run('/usr/bin/nvidia-smi --query-gpu=name') nvidia-command
os.system("date && nvcc --version")  #: os.system('date && nvcc --version') nvidia-command
shutil.which("nvidia-smi")  #: shutil.which('nvidia-smi') nvidia-command
subprocess.run(["echo", "nvidia-smi-like"])
query = ["nvidia-smi", "--query-gpu=name"]  #: 'nvidia-smi' nvidia-command
subprocess.run(query)
print("nvidia-smi is not used here")
asyncio.run(asyncio.create_subprocess_exec("nvidia-smi"))  #: asyncio.create_subprocess_exec('nvidia-smi') nvidia-command

ctypes.CDLL("libcudart.so.12")  #: ctypes.CDLL('libcudart.so.12') cuda-runtime-library
ctypes.cdll.LoadLibrary("/usr/local/cuda/lib64/libcuda.so.1")  #: ctypes.cdll.LoadLibrary('/usr/local/cuda/lib64/libcuda.so.1') cuda-runtime-library
ctypes.util.find_library("nccl")  #: ctypes.util.find_library('nccl') cuda-runtime-library, "nccl"
runtime = os.path.join("/usr/lib", "libcudart.so")  #: 'libcudart.so' cuda-runtime-library
cublas = ctypes.CDLL("libcublas.so.12")  #: ctypes.CDLL('libcublas.so.12') nvidia-library
ctypes.CDLL(runtime), ctypes.CDLL("libm.so.6")

capability = torch.cuda.get_device_capability()  #: torch.cuda.get_device_capability
if capability >= (8, 0):  #: torch.cuda.get_device_capability capability-check
    pass
major, minor = capability
if major * 10 + minor < 75:  #: torch.cuda.get_device_capability capability-check
    pass
if torch.cuda.get_device_capability(0)[0] == 9:  #: torch.cuda.get_device_capability, torch.cuda.get_device_capability capability-check
    pass
properties = torch.cuda.get_device_properties(0)  #: torch.cuda.get_device_properties
enough = properties.major >= 8 and properties.total_memory > 10**9  #: torch.cuda._CudaDeviceProperties.major capability-check
if "A100" in torch.cuda.get_device_name():  #: torch.cuda.get_device_name, torch.cuda.get_device_name capability-check
    pass
if torch.version.cuda is not None and torch.version.cuda >= "11.8":  #: torch.version.cuda, torch.version.cuda, torch.version.cuda toolkit-version-check
    pass
print(capability, torch.cuda.get_device_capability(0) == torch.cuda.get_device_capability(1))  #: torch.cuda.get_device_capability, torch.cuda.get_device_capability

memory = torch.zeros(1).__cuda_array_interface__  #: .__cuda_array_interface__ array-interface
torch.ops.fbgemm.f8f8bf16(1)  #: torch.ops.fbgemm.f8f8bf16 extension-operators
torch.ops.load_library("libops.so")  #: torch.ops.load_library() loaded-operators
torch.ops.aten.add(1, 1)
torch._C._cuda_getDeviceCount()  #: torch._C._cuda_getDeviceCount private-names
getattr(torch.cuda, input())()  #: torch.cuda, getattr(torch.cuda, ...) computed-name


@triton.autotune([triton.Config({"BLOCK": 1}, num_ctas=2)], key=[])  #: triton.autotune triton-kernel, triton.Config(num_ctas=...) triton-launch
@triton.jit  #: triton.jit triton-kernel
def kernel(x):
    tl.math.libdevice.tanh(x)  #: triton.language.math.libdevice.tanh triton-library
    tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [x], tl.int32, True, 1)  #: triton.language.inline_asm_elementwise triton-assembly
    tl.extra.cuda.globaltimer()  #: triton.language.extra.cuda.globaltimer triton-cuda
    tl.load(x)


os.environ["CUDA_VISIBLE_DEVICES"] = "0"  #: CUDA_VISIBLE_DEVICES
os.environ.setdefault("NCCL_SOCKET_IFNAME", "eth0")  #: NCCL_SOCKET_IFNAME
"CUDA_LAUNCH_BLOCKING" in os.environ  #: CUDA_LAUNCH_BLOCKING
os.getenv("CUDA_HOME")  #: CUDA_HOME toolkit-path
os.environ["HOME"]

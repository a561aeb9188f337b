from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CUDAExtension

assert CUDA_HOME is not None, "this package needs nvcc"
setup(
    name="halving",
    version="0.1",
    py_modules=[],
    ext_modules=[
        CUDAExtension(
            "halving",
            ["halving.cu"],
            extra_compile_args={"cxx": ["-O3"], "nvcc": ["-O3", "--use_fast_math", "-Xptxas", "-v"]},
        )
    ],
    cmdclass={"build_ext": BuildExtension},
)

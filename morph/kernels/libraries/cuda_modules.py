"""The functions of libcuda for modules: loading them, their kernels and variables, and launches."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import TYPE_CHECKING, Any

import torch

from morph.kernels.extensions import Kernel, Module, load
from morph.kernels.libraries import images
from morph.kernels.libraries.callbacks import Callbacks, required, text
from morph.kernels.libraries.images import NOT_FOUND, RefusedImageError
from morph.software import settings

if TYPE_CHECKING:
    from morph.kernels.extensions import Image
    from morph.kernels.libraries.loading import Loaded

INVALID_VALUE, INVALID_HANDLE = 1, 400
CODES = {9: INVALID_VALUE}  # of the runtime, where the driver has another
_PLACE = POINTER(c_void_p)


@dataclasses.dataclass
class Function:
    """A kernel as the driver knows it.

    Attributes:
        kernel: The kernel.
        module: The handle of its module.
        shared: Bytes of dynamic shared memory that a launch may ask for.
    """

    kernel: Kernel
    module: int
    shared: int = 48 << 10


class Modules:
    """The modules that are loaded, and their kernels, by their handles."""

    def __init__(self, library: Loaded) -> None:
        self.library = library
        self.modules: dict[int, Module] = {}
        self.functions: dict[int, Function] = {}
        self.variables: dict[int, set[int]] = {}  # the addresses of those that were asked for
        self._handles = itertools.count(0x20000, 16)
        self._flags_of = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_uint))(
            library.address("cuStreamGetFlags") or 0
        )

    def is_stream(self, handle: int | None) -> bool:
        """Return whether a handle is a stream's."""
        return not handle or self._flags_of(handle, c_uint()) == 0

    def _tell_of(self, address: int, size: int) -> None:
        """Let copies and fills know a variable as the device's memory, or no longer."""
        device = torch.cuda.current_device()
        self.library.variable(address, size, device)

    def load(self, answer: Any, image: Callable[[], Image]) -> int:
        """Load a module, and write its handle; return an error code."""
        required(answer)
        try:
            module = load(image().library)
        except RefusedImageError as error:
            self.library.say(error.code, str(error))
            return error.code
        handle = next(self._handles)
        self.modules[handle] = module
        answer[0] = handle
        return 0

    def unload(self, handle: int | None) -> int:
        """Unload a module; return an error code."""
        module = self.modules.pop(handle or 0, None)
        if module is None:
            return INVALID_HANDLE
        for address in self.variables.pop(handle or 0, ()):
            self._tell_of(address, 0)
        self.functions = {key: each for key, each in self.functions.items() if each.module != handle}
        if not settings.sanitizers():  # what has been found is told with its lines later
            module.close()
        return 0

    def function(self, answer: Any, handle: int | None, name: str) -> int:
        """Write the handle of a kernel; return an error code."""
        module = self.modules.get(handle or 0)
        if module is None:
            return INVALID_HANDLE
        if name not in module.kernels:
            self.library.say(
                NOT_FOUND, f"the module has no kernel {name!r}; it has {', '.join(sorted(module.kernels))}"
            )
            return NOT_FOUND
        kernel = module.kernels[name]
        self.functions.setdefault(kernel.entry, Function(kernel, handle or 0))
        required(answer)[0] = kernel.entry
        return 0

    def variable(self, answer: Any, size: Any, handle: int | None, name: str) -> int:
        """Write where a variable is, and its bytes; return an error code."""
        module = self.modules.get(handle or 0)
        if module is None:
            return INVALID_HANDLE
        found = module.variable(name)
        if found is None:
            return NOT_FOUND
        self.variables.setdefault(handle or 0, set()).add(found[0])
        self._tell_of(found[0], found[1])
        for place, value in zip((answer, size), found, strict=True):
            if place:
                place[0] = value
        return 0


def add(calls: Callbacks, library: Loaded) -> Modules:
    """Add the functions, and return what they know."""
    known = Modules(library)
    _add_loading(calls, known)
    _add_contents(calls, known)
    return known


def _add_loading(calls: Callbacks, known: Modules) -> None:
    @calls.serve("cuModuleLoadData", "cuModuleLoadFatBinary", takes=(_PLACE, c_void_p))
    def load(answer: Any, image: int | None) -> int:
        return known.load(answer, lambda: images.of_address(required(image)))

    @calls.serve("cuModuleLoadDataEx", takes=(_PLACE, c_void_p, c_uint, c_void_p, c_void_p))
    def load_with(answer: Any, image: int | None, count: int, options: int, values: int) -> int:
        return known.load(answer, lambda: images.of_address(required(image)))

    options = (c_void_p, c_void_p, c_uint, c_void_p, c_void_p, c_uint)

    @calls.serve("cuLibraryLoadData", takes=(_PLACE, c_void_p, *options))
    def load_library(answer: Any, image: int | None, *options: Any) -> int:
        return known.load(answer, lambda: images.of_address(required(image)))

    @calls.serve("cuModuleLoad", takes=(_PLACE, c_char_p))
    def load_file(answer: Any, path: bytes | None) -> int:
        return known.load(answer, lambda: images.of_file(required(path).decode()))

    @calls.serve("cuLibraryLoadFromFile", takes=(_PLACE, c_char_p, *options))
    def load_library_file(answer: Any, path: bytes | None, *options: Any) -> int:
        return known.load(answer, lambda: images.of_file(required(path).decode()))

    @calls.serve("cuModuleUnload", "cuLibraryUnload", takes=(c_void_p,))
    def unload(handle: int | None) -> int:
        return known.unload(handle)

    @calls.serve("cuLibraryGetModule", takes=(_PLACE, c_void_p))
    def module_of(answer: Any, handle: int | None) -> int:
        if handle not in known.modules:
            return INVALID_HANDLE
        required(answer)[0] = handle
        return 0

    @calls.serve("cuModuleGetLoadingMode", takes=(POINTER(c_int),))
    def mode(answer: Any) -> None:
        required(answer)[0] = 1  # CU_MODULE_EAGER_LOADING


def _add_contents(calls: Callbacks, known: Modules) -> None:
    @calls.serve("cuModuleGetFunction", "cuLibraryGetKernel", takes=(_PLACE, c_void_p, c_char_p))
    def function(answer: Any, handle: int | None, name: bytes | None) -> int:
        return known.function(answer, handle, required(name).decode(errors="replace"))

    @calls.serve(
        "cuModuleGetGlobal", "cuLibraryGetGlobal", takes=(_PLACE, POINTER(c_size_t), c_void_p, c_char_p)
    )
    def variable(answer: Any, size: Any, handle: int | None, name: bytes | None) -> int:
        return known.variable(answer, size, handle, required(name).decode(errors="replace"))

    @calls.serve("cuModuleGetFunctionCount", "cuLibraryGetKernelCount", takes=(POINTER(c_uint), c_void_p))
    def count(answer: Any, handle: int | None) -> int:
        if handle not in known.modules:
            return INVALID_HANDLE
        required(answer)[0] = len(known.modules[handle].kernels)
        return 0

    @calls.serve("cuModuleEnumerateFunctions", "cuLibraryEnumerateKernels", takes=(_PLACE, c_uint, c_void_p))
    def enumerate_functions(answer: Any, count: int, handle: int | None) -> int:
        if handle not in known.modules:
            return INVALID_HANDLE
        for index, name in enumerate(list(known.modules[handle].kernels)[:count]):
            place = c_void_p()
            known.function(ctypes.pointer(place), handle, name)
            answer[index] = place.value
        return 0

    @calls.serve("cuKernelGetFunction", takes=(_PLACE, c_void_p))
    def of_kernel(answer: Any, handle: int | None) -> int:
        if handle not in known.functions:
            return INVALID_HANDLE
        required(answer)[0] = handle
        return 0

    @calls.serve("cuFuncGetModule", "cuKernelGetLibrary", takes=(_PLACE, c_void_p))
    def module(answer: Any, handle: int | None) -> int:
        if handle not in known.functions:
            return INVALID_HANDLE
        required(answer)[0] = known.functions[handle].module
        return 0

    @calls.serve("cuFuncGetName", "cuKernelGetName", takes=(_PLACE, c_void_p))
    def name(answer: Any, handle: int | None) -> int:
        if handle not in known.functions:
            return INVALID_HANDLE
        required(answer)[0] = text(known.functions[handle].kernel.name)
        return 0

"""The functions of libcuda that link images: one image is what it is linked to, and more are refused."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import TYPE_CHECKING, Any

from morph.kernels.extensions import toolkit_name
from morph.kernels.libraries import images
from morph.kernels.libraries.callbacks import Callbacks, required
from morph.kernels.libraries.cuda_modules import INVALID_HANDLE, INVALID_VALUE
from morph.kernels.libraries.images import RefusedImageError

if TYPE_CHECKING:
    from morph.kernels.extensions import Image
    from morph.kernels.libraries.loading import Loaded

NOT_SUPPORTED = 801


def add(calls: Callbacks, library: Loaded) -> None:
    """Add the functions."""
    links: dict[int, Any] = {}  # the linked image's text, once there is one
    handles = itertools.count(0x30000, 16)

    def take(handle: int | None, image: Callable[[], Image]) -> int:
        if handle not in links:
            return INVALID_HANDLE
        if links[handle] is not None:
            library.say(NOT_SUPPORTED, "the software device links no modules; compile them as one program")
            return NOT_SUPPORTED
        try:
            links[handle] = ctypes.create_string_buffer(image().text(toolkit_name()).encode())
        except RefusedImageError as error:
            library.say(error.code, str(error))
            return error.code
        return 0

    @calls.serve("cuLinkCreate", takes=(c_uint, c_void_p, c_void_p, POINTER(c_void_p)))
    def create(count: int, options: int, values: int, answer: Any) -> int:
        handle = next(handles)
        required(answer)[0] = handle
        links[handle] = None
        return 0

    options = (c_uint, c_void_p, c_void_p)

    @calls.serve("cuLinkAddData", takes=(c_void_p, c_int, c_void_p, c_size_t, c_char_p, *options))
    def add_data(
        handle: int | None, kind: int, data: int | None, size: int, name: bytes, *options: Any
    ) -> int:
        return take(handle, lambda: images.of_bytes(ctypes.string_at(required(data), size)))

    @calls.serve("cuLinkAddFile", takes=(c_void_p, c_int, c_char_p, *options))
    def add_file(handle: int | None, kind: int, path: bytes | None, *options: Any) -> int:
        return take(handle, lambda: images.of_file(required(path).decode()))

    @calls.serve("cuLinkComplete", takes=(c_void_p, POINTER(c_void_p), POINTER(c_size_t)))
    def complete(handle: int | None, answer: Any, size: Any) -> int:
        if links.get(handle or 0) is None:
            return INVALID_VALUE if handle in links else INVALID_HANDLE
        required(answer)[0] = ctypes.addressof(links[handle or 0])
        if size:
            size[0] = len(links[handle or 0])
        return 0

    @calls.serve("cuLinkDestroy", takes=(c_void_p,))
    def destroy(handle: int | None) -> int:
        return 0 if links.pop(handle or 0, INVALID_HANDLE) is not INVALID_HANDLE else INVALID_HANDLE

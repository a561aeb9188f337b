"""Textures and surfaces, by the formulas of CUDA's programming guide, computed in fractions."""

import ctypes
import itertools
from fractions import Fraction
from math import floor

import numpy as np
import pytest
import torch

from tests.kernels.extensions.device.corpus import call, library

LINE, LAYERS, PLANE, PLANES, SPACE, CUBE, CUBES, LINEAR, CORNERS = range(9)
SIZES = [(7, 0, 0), (7, 0, 3), (7, 4, 0), (7, 4, 3), (5, 4, 3), (4, 4, 6), (4, 4, 12), (9, 0, 0), (7, 4, 0)]
LAYERED, SURFACE, CUBEMAP, GATHER = 1, 2, 4, 8
FLAGS = {LAYERS: LAYERED, PLANES: LAYERED, CUBE: CUBEMAP, CUBES: CUBEMAP | LAYERED, CORNERS: GATHER}
AXES = {LINE: 1, LAYERS: 1, SPACE: 3}
ARRAY, MEMORY, ROWS = 0, 2, 3
WRAP, CLAMP, MIRROR, BORDER = range(4)
ZEROS, CLAMPED = range(2)
TYPES = ["int8", "int16", "int32", "uint8", "uint16", "uint32", "float32"]
HALF = Fraction(1, 2)


class Setup(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int) for name in ("bits", "components", "kind", "shape")]
    _fields_ += [
        ("size", ctypes.c_int * 3),
        *((name, ctypes.c_int) for name in ("flags", "resource", "filter")),
    ]
    _fields_ += [("reads", ctypes.c_int), ("normalized", ctypes.c_int), ("modes", ctypes.c_int * 3)]
    _fields_ += [("type", ctypes.c_int), ("border", ctypes.c_float * 4)]


def setup(shape, texels, flags=0, **how):
    kind, bits, components = "iuf".index(texels.dtype.kind), texels.dtype.itemsize * 8, texels.shape[-1]
    given = {"modes": (CLAMP,) * 3, "flags": flags | FLAGS.get(shape, 0), "size": SIZES[shape]} | how
    return Setup(bits=bits, kind=kind, components=components, shape=shape, **given)


def read(shape, texels, places, **how):
    """Return what a kernel reads of a texture at places, or the error's number."""
    given, as_floats = setup(shape, texels, **how), how.get("reads") and texels.itemsize < 4
    dtype = np.dtype("float32") if as_floats or texels.dtype.kind == "f" else texels.dtype
    given.type = TYPES.index(dtype) * 3 + given.components // 2
    out = torch.zeros(len(places) * given.components * dtype.itemsize, dtype=torch.uint8).cuda()
    at = torch.from_numpy(places.astype(np.float32)).cuda()
    pointers = [ctypes.c_void_p(each) for each in (texels.ctypes.data, at.data_ptr(), out.data_ptr())]
    status = library("textures").read_texture(ctypes.byref(given), *pointers, len(places))
    return status or out.cpu().numpy().view(dtype).reshape(len(places), -1)


def numbers(shape, components=1, dtype="float32", most=100):
    rows = [max(each, 1) for each in reversed(SIZES[shape])]
    low = 0 if dtype[0] == "u" else -most
    return np.random.default_rng(5).integers(low, most, (*rows, components), endpoint=True).astype(dtype)


def places_for(shape, normalized):
    random, sizes = np.random.default_rng(3), np.array([max(each, 1) for each in SIZES[shape]])
    places = random.uniform(-1.5, 2.5, (60, 3)) if normalized else random.uniform(-2, sizes + 2, (60, 3))
    whole = random.integers(-2, 9, (12, 3)) / (
        sizes if normalized else 2
    )  # between texels, and at their centres
    layers = random.integers(0, SIZES[shape][2] if FLAGS.get(shape) else 1, 72)
    return np.column_stack([np.concatenate([places, whole]), layers]).astype(np.float32)


def way(x, size, mode, linear, normalized):
    """Return the texels along an axis that a coordinate leads to, with their weights; None: the border."""
    x = Fraction(x)
    if normalized:
        rest = 1 - x % 1 if mode == MIRROR and floor(x) % 2 else x % 1
        x = (rest if mode in (WRAP, MIRROR) else x) * size
    elif mode == WRAP:
        mode = CLAMP
    i = floor(x - HALF) if linear else floor(x)
    weight = Fraction(floor((x - HALF - i) * 256 + HALF), 256) if linear else 0
    texels = [i, i + 1]
    if mode == BORDER:
        texels = [each if 0 <= each < size else None for each in texels]
    else:
        texels = [each % size if mode == WRAP else min(max(each, 0), size - 1) for each in texels]
    return list(zip(texels, [1 - weight, weight], strict=True))[: 1 + linear]


def filtered(texels, place, layer, modes, linear, normalized, border=(0, 0, 0, 0)):
    axes, sizes = len(place), texels.shape[2::-1]
    ways = [way(place[axis], sizes[axis], modes[axis], linear, normalized) for axis in range(axes)]
    total = np.zeros(texels.shape[-1], dtype=object)
    for corner in itertools.product(*ways):
        at = [each for each, _ in corner] + [0] * (2 - axes) + [layer] * (axes < 3)
        found = border[: len(total)] if None in at else texels[tuple(reversed(at))]
        total += np.array([Fraction(float(each)) for each in found]) * np.prod([each for _, each in corner])
    return [float(np.float32(float(each))) for each in total]


@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("normalized", [0, 1])
@pytest.mark.parametrize("shape", [LINE, LAYERS, PLANE, PLANES, SPACE])
def test_each_mode_of_addressing_and_filtering(shape, normalized, linear, mode):
    modes = (mode, BORDER - mode, mode)  # another one along the second axis
    texels, places, border = numbers(shape, 2), places_for(shape, normalized), (7, -3, 0, 0)
    axes = AXES.get(shape, 2)
    ways = (modes, linear, normalized, border)
    expected = [filtered(texels, each[:axes], int(each[3]), *ways) for each in places.tolist()]
    for resource in [ARRAY, ROWS] if shape == PLANE else [ARRAY]:
        how = {
            "resource": resource,
            "filter": linear,
            "normalized": normalized,
            "modes": modes,
            "border": border,
        }
        assert read(shape, texels, places, **how).tolist() == expected


@pytest.mark.parametrize("shape", [PLANE, SPACE])
@pytest.mark.parametrize(("mode", "padding"), [(CLAMP, "border"), (MIRROR, "reflection"), (BORDER, "zeros")])
def test_linear_filtering_is_torchs_but_for_the_weights(shape, mode, padding):
    texels, places, axes = numbers(shape), places_for(shape, 1), AXES.get(shape, 2)
    found = read(shape, texels, places, filter=1, normalized=1, modes=(mode,) * 3)
    image = torch.from_numpy(texels[..., 0] if axes == 3 else texels[0, ..., 0])[None, None]
    grid = torch.from_numpy(places[:, :axes] * 2 - 1).view(1, *[1] * (axes - 1), -1, axes)
    expected = torch.nn.functional.grid_sample(image, grid, padding_mode=padding, align_corners=False)
    assert np.abs(found[:, 0] - expected.flatten().numpy()).max() <= axes * 200 / 512


@pytest.mark.parametrize("components", [1, 2, 4])
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32"]
)
def test_each_type_of_component(dtype, components):
    is_whole, bits = dtype[0] != "f", np.dtype(dtype).itemsize * 8
    most = int(np.iinfo(dtype).max) if is_whole else 2000
    texels = numbers(PLANE, components, dtype, most)
    texels[0, 0, 0] = np.iinfo(dtype).min if is_whole else -2000
    places, flat = (
        np.array([[x, y, 0, x % 2] for y in range(4) for x in range(7)]),
        texels.reshape(28, components),
    )
    assert np.array_equal(read(PLANE, texels, places), flat)
    normalized = (
        np.maximum(flat / np.float32(most), -1).astype(np.float32) if is_whole and bits < 32 else flat
    )
    assert np.array_equal(read(PLANE, texels, places, reads=1), normalized)
    assert (
        np.array_equal(read(PLANE, texels, places, filter=1), 26) == is_whole
    )  # cudaErrorInvalidFilterSetting


def test_linear_memory_is_zero_beyond_its_ends():
    texels, places = numbers(LINEAR, 4), np.array([[x, 0, 0, 0] for x in range(-2, 12)])
    assert np.array_equal(
        read(LINEAR, texels, places, resource=MEMORY), np.pad(texels[0, 0], ((2, 3), (0, 0)))
    )


def test_the_texels_that_are_gathered():
    texels, places = (
        numbers(CORNERS, 4),
        np.array([[x + 0.75, y + 0.75, 0, 2] for y in range(3) for x in range(5)]),
    )
    for (x, y, *_), four in zip(places.astype(int), read(CORNERS, texels, places), strict=True):
        plane = texels[0, y : y + 2, x : x + 2, 2]
        assert four.tolist() == [*plane[1], *plane[0, ::-1]]


SIDES = {(0, 1): "-z-y", (0, -1): "+z-y", (1, 1): "+x+z", (1, -1): "+x-z", (2, 1): "+x-y", (2, -1): "-x-y"}


@pytest.mark.parametrize(("shape", "linear"), [(CUBE, 0), (CUBE, 1), (CUBES, 0), (CUBES, 1)])
def test_faces_of_cubes(shape, linear):
    texels, random = numbers(shape, 2), np.random.default_rng(9)
    places = random.uniform(-1, 1, (90, 4)).astype(np.float32)
    places[:, 3] = random.integers(0, SIZES[shape][2] // 6, 90)
    found = read(shape, texels, places, filter=linear, normalized=1)
    for place, two in zip(places, found, strict=True):
        axis = int(np.abs(place[:3]).argmax())
        side, named = SIDES[axis, int(np.sign(place[axis]))], dict(zip("xyz", place.tolist(), strict=False))
        most = Fraction(float(abs(place[axis])))
        at = [(Fraction(named[side[i + 1]]) * int(side[i] + "1") / most + 1) / 2 for i in (0, 2)]
        face = axis * 2 + (place[axis] < 0) + 6 * int(place[3])
        assert two.tolist() == filtered(texels, at, face, (CLAMP, CLAMP), linear, 1)


def access(shape, texels, places, values, mode, writes):
    """Return what a kernel reads or is given, and the whole of the array afterwards."""
    at, values, all = (torch.from_numpy(each.copy()) for each in (places.astype(np.int32), values, texels))
    at, values, how = at.cuda(), values.cuda(), setup(shape, texels, flags=SURFACE)
    pointers = [ctypes.c_void_p(each.data_ptr()) for each in (all, at, values)]
    function = library("textures").access_surface
    assert function(ctypes.byref(how), *pointers, len(places), mode, writes) == 0
    return values.cpu().numpy(), all.numpy()


@pytest.mark.parametrize("mode", [ZEROS, CLAMPED])
@pytest.mark.parametrize("shape", [LINE, LAYERS, PLANE, PLANES, SPACE, CUBE, CUBES])
def test_surfaces_within_and_beyond_their_bounds(shape, mode):
    texels, random, values = (
        numbers(shape, 2),
        np.random.default_rng(1),
        numbers(CUBES, 2).reshape(-1, 2)[:40],
    )
    sizes = np.array([max(each, 1) for each in SIZES[shape]])
    has_rows, has_slices = SIZES[shape][1] > 0, shape == SPACE
    places = random.integers(-2, [*sizes + 2, 1], (40, 4)) * [1, has_rows, has_slices, 0]
    places[:, 3] = 0 if has_slices else random.integers(0, sizes[2], 40)
    inner = np.clip(places[:, :3], 0, sizes - 1)
    inside = (inner == places[:, :3]).all(1) | (mode == CLAMPED)
    at = (inner[:, 2] + places[:, 3], inner[:, 1], inner[:, 0])
    found, same = access(shape, texels, places, values, mode, 0)
    assert np.array_equal(found, np.where(inside[:, None], texels[at], 0))
    assert np.array_equal(same, texels)
    first = np.unique(np.stack(at), axis=1, return_index=True)[1]  # one writer each
    _, written = access(shape, texels, places[first], values[first], mode, 1)
    for number in first[inside[first]]:
        texels[tuple(each[number] for each in at)] = values[number]
    assert np.array_equal(written, texels)


def test_copies_of_arrays():
    given = np.arange(30, dtype=np.int32).reshape(5, 6)
    found, run = torch.zeros(5, 6, dtype=torch.int32), torch.zeros(5, dtype=torch.int32)
    assert call("textures", "copy_arrays", torch.from_numpy(given), found, run) == 0
    expected = found.numpy().copy()
    expected[0], expected[1:4, 2:5], expected[4, :2] = given[0], given[2:5, 1:4], given[0, 3:5]
    assert np.array_equal(found.numpy(), expected)
    assert run.tolist() == given.flatten()[10:15].tolist()

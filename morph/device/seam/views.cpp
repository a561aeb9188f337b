// Who asks: code that sees CUDA, or code that sees the vendor's device. The nearest frame that does not act for its
// caller decides, and what Python has said of a code object is kept in it, so that no module is kept alive.
#include "seam.h"

#include <torch/csrc/python_headers.h>

#include <cstdint>

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

namespace seam {
namespace {

// As in morph.finders.torch_cuda.views.View.
struct View {
  static constexpr intptr_t cuda = 1, caller = 2, once = 4, through = 8, bits = 4;
};

PyObject* view_of = nullptr;  // takes a frame, or None where there is none
intptr_t activation = 0;      // views that were kept in an earlier one are not this one's

intptr_t ask(PyObject* frame) {
  PyObject* answer = PyObject_CallOneArg(view_of, frame);
  long view = answer == nullptr ? -1 : PyLong_AsLong(answer);
  Py_XDECREF(answer);
  if (view >= 0) return view;
  PyErr_WriteUnraisable(view_of);
  return 0;
}

intptr_t view_in(PyFrameObject* frame) {
  static const Py_ssize_t place = PyUnstable_Eval_RequestCodeExtraIndex(nullptr);
  auto* code = reinterpret_cast<PyObject*>(PyFrame_GetCode(frame));
  void* kept = nullptr;
  PyUnstable_Code_GetExtra(code, place, &kept);
  auto found = reinterpret_cast<intptr_t>(kept);
  if (found >> View::bits != activation) {
    found = ask(reinterpret_cast<PyObject*>(frame));
    if (!(found & View::once)) PyUnstable_Code_SetExtra(code, place, reinterpret_cast<void*>(activation << View::bits | found));
  }
  Py_DECREF(code);
  return found;
}

}  // namespace

bool is_asked_for_cuda() {
  if (view_of == nullptr) return false;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  for (intptr_t acting = View::caller; frame != nullptr; acting = View::caller | View::through) {
    intptr_t found = view_in(frame);
    PyFrameObject* outer = found & acting ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(frame);
    if (!(found & acting)) return found & View::cuda;
    frame = outer;
  }
  return ask(Py_None) & View::cuda;
}

void answer_by_caller(PyObject* views) {
  Py_INCREF(views);
  Py_XSETREF(view_of, views);
  ++activation;
}

void disengage_views() { Py_CLEAR(view_of); }

}  // namespace seam

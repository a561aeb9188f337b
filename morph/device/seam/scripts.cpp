// What TorchScript says of a device: its operators for `x.device.type` and `str(x.device)`.
#include "seam.h"

#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <utility>

namespace seam {
namespace {

using torch::jit::Node;
using torch::jit::Operation;
using torch::jit::Operator;
using torch::jit::Stack;

constexpr const char* schemas[] = {"prim::type(Device self) -> str", "aten::str(t elem) -> str"};

std::shared_ptr<Operator> torch_operators[std::size(schemas)];
std::string torch_folder;

bool is_torchs(const Node& node) {
  auto source = node.sourceRange().source();
  std::string file = source && source->filename() ? *source->filename() : "";
  return file.rfind(torch_folder, 0) == 0 || file.find("__torch__/torch/") != std::string::npos;
}

// Whether code that is not torch's has the text as a constant; torch's is inlined into the program's.
bool has_constant(const torch::jit::Block& block, const std::string& text) {
  for (const Node* node : block.nodes()) {
    for (const torch::jit::Block* inner : node->blocks())
      if (has_constant(*inner, text)) return true;
    if (node->kind() != c10::prim::Constant || is_torchs(*node)) continue;
    auto value = torch::jit::toIValue(node->output());
    if (value && value->isString() && value->toStringRef() == text) return true;
  }
  return false;
}

// torch's own scripts see the vendor's device, and so do those that name it.
bool is_for_cuda(const Node& node) {
  if (is_torchs(node)) return false;
  return !has_constant(*node.owningGraph()->block(), c10::DeviceTypeName(target(), /*lower_case=*/true));
}

void show_as_cuda(c10::IValue& value) {
  if (value.isDevice() && value.toDevice().type() == target())
    value = c10::Device(c10::DeviceType::CUDA, value.toDevice().index());
}

template <size_t place>
Operation renaming(const Node* node) {
  Operation torchs = torch_operators[place]->getOperation(node);
  if (node == nullptr || !is_for_cuda(*node)) return torchs;
  return [torchs](Stack& stack) mutable {
    show_as_cuda(stack.back());
    torchs(stack);
  };
}

std::shared_ptr<Operator> operator_of(const char* text) {
  auto schema = torch::jit::parseSchema(text);
  for (const auto& op : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(schema.name())))
    if (op->schema() == schema) return op;
  TORCH_CHECK(false, "this torch has no ", text);
}

void exchange_operator(const char* schema, Operator&& with) {
  torch::jit::deregisterOperator(operator_of(schema)->schema());
  torch::jit::registerOperator(std::move(with));
}

template <size_t... places>
void replace_operators(std::index_sequence<places...>) {
  ((torch_operators[places] = operator_of(schemas[places]),
    exchange_operator(schemas[places], Operator(schemas[places], torch::jit::OperationCreator(renaming<places>),
                                       torch_operators[places]->aliasAnalysisKind()))),
   ...);
}

}  // namespace

void engage_scripts() {
  torch_folder = py::module_::import("torch").attr("__path__").attr("__getitem__")(0).cast<std::string>();
  replace_operators(std::make_index_sequence<std::size(schemas)>());
}

// The torch_operators stay: scripts that were compiled meanwhile may still run.
void disengage_scripts() {
  for (size_t place = 0; place < std::size(schemas); ++place)
    if (torch_operators[place]) exchange_operator(schemas[place], Operator(*torch_operators[place]));
}

}  // namespace seam

// The names of the graph engine that torch_npu calls outside of graphs and that make C++ objects; a stub that
// returned zero for them would corrupt memory.

// The graph engine is built with the old representation of std::string, which is part of these names.
#define _GLIBCXX_USE_CXX11_ABI 0

#include <memory>
#include <string>

#define VISIBLE __attribute__((visibility("default")))

namespace ge {

class VISIBLE AscendString {  // of the size and with the destructor of the real one
 public:
  AscendString(const char *text);
  const char *GetString() const;
  bool operator<(const AscendString &other) const;
  bool operator==(const AscendString &other) const;

 private:
  std::shared_ptr<std::string> text_;
};

AscendString::AscendString(const char *text) : text_(text ? std::make_shared<std::string>(text) : nullptr) {}
const char *AscendString::GetString() const { return text_ ? text_->c_str() : ""; }

bool AscendString::operator<(const AscendString &other) const {
  return std::string(GetString()) < other.GetString();
}

bool AscendString::operator==(const AscendString &other) const {
  return std::string(GetString()) == other.GetString();
}

VISIBLE std::string GEGetErrorMsg() { return "the soft CANN has no graph engine"; }
VISIBLE std::string GEGetWarningMsgV2() { return ""; }

}  // namespace ge

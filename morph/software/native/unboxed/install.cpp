// Installs the unboxed kernels of the hot operators. A device that is built without them serves these boxed.
#include "device/device.h"

namespace software {

void install_forward_operators();
void install_in_place_operators();
void install_backward_operators();
void install_list_operators();
void install_fused_operators();

void install_operators() {
  install_forward_operators();
  install_in_place_operators();
  install_backward_operators();
  install_list_operators();
  install_fused_operators();
}

}  // namespace software

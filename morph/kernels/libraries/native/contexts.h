// Contexts of CUDA's driver: each device has its primary one, which is current where the device is torch's current one.
#pragma once

namespace contexts {

using Context = void*;

Context of(int device);
int device(Context context);  // -1: no context of ours

int current(Context* context);
int make_current(Context context);
int push(Context context);
int pop(Context* context);

}  // namespace contexts

// CUTLASS asks for the header; of its types and conversions, which are for capability 10.0, there are none.
#pragma once

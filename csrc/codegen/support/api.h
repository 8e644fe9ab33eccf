// SPDX-License-Identifier: Apache-2.0
// api.h: marks what libwarp_torch.so exports; everything else is hidden.
#pragma once

/// On a function, or on a class whose members or exceptions cross the library's edge.
#define WT_API __attribute__((visibility("default")))

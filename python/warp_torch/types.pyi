# SPDX-License-Identifier: Apache-2.0
# types.pyi: for type checkers; written by scripts/write_stubs.py.
# mypy: ignore-errors
from . import Any as Any, Float as Float, Function as Function, Int as Int, Scalar as Scalar, bfloat16 as bfloat16, float16 as float16, float32 as float32, float64 as float64, int16 as int16, int32 as int32, int64 as int64, int8 as int8, ref as ref, uint16 as uint16, uint32 as uint32, uint64 as uint64, uint8 as uint8, array1d as array1d, array2d as array2d, array3d as array3d, array4d as array4d, matrix as matrix, quaternion as quaternion, transformation as transformation, vector as vector, vec2 as vec2, mat22 as mat22, vec3 as vec3, mat33 as mat33, vec4 as vec4, mat44 as mat44, quat as quat, transform as transform, spatial_vector as spatial_vector, spatial_matrix as spatial_matrix, vec2b as vec2b, mat22b as mat22b, vec3b as vec3b, mat33b as mat33b, vec4b as vec4b, mat44b as mat44b, vec2ub as vec2ub, mat22ub as mat22ub, vec3ub as vec3ub, mat33ub as mat33ub, vec4ub as vec4ub, mat44ub as mat44ub, vec2s as vec2s, mat22s as mat22s, vec3s as vec3s, mat33s as mat33s, vec4s as vec4s, mat44s as mat44s, vec2us as vec2us, mat22us as mat22us, vec3us as vec3us, mat33us as mat33us, vec4us as vec4us, mat44us as mat44us, vec2i as vec2i, mat22i as mat22i, vec3i as vec3i, mat33i as mat33i, vec4i as vec4i, mat44i as mat44i, vec2ui as vec2ui, mat22ui as mat22ui, vec3ui as vec3ui, mat33ui as mat33ui, vec4ui as vec4ui, mat44ui as mat44ui, vec2l as vec2l, mat22l as mat22l, vec3l as vec3l, mat33l as mat33l, vec4l as vec4l, mat44l as mat44l, vec2ul as vec2ul, mat22ul as mat22ul, vec3ul as vec3ul, mat33ul as mat33ul, vec4ul as vec4ul, mat44ul as mat44ul, vec2h as vec2h, mat22h as mat22h, vec3h as vec3h, mat33h as mat33h, vec4h as vec4h, mat44h as mat44h, quath as quath, transformh as transformh, spatial_vectorh as spatial_vectorh, spatial_matrixh as spatial_matrixh, vec2f as vec2f, mat22f as mat22f, vec3f as vec3f, mat33f as mat33f, vec4f as vec4f, mat44f as mat44f, quatf as quatf, transformf as transformf, spatial_vectorf as spatial_vectorf, spatial_matrixf as spatial_matrixf, vec2d as vec2d, mat22d as mat22d, vec3d as vec3d, mat33d as mat33d, vec4d as vec4d, mat44d as mat44d, quatd as quatd, transformd as transformd, spatial_vectord as spatial_vectord, spatial_matrixd as spatial_matrixd, struct as struct
from typing import Any
from typing_extensions import Self
from . import *

def array_annotation(dtype: Any = ..., ndim: Any = 1) -> Any: 
    """The annotation ``array(dtype=..., ndim=...)`` stands for; the array class delegates here."""
def canonical(t: Any) -> Any: 
    """The type that ``t`` stands for: Python and NumPy scalar types become ours. Raises if none."""
def dtype_from_numpy(dtype: Any) -> Any: 
    """The scalar type of a NumPy dtype."""
def dtype_to_numpy(dtype: Any) -> Any: 
    """The NumPy type of a scalar type."""
def from_text(text: Any) -> Any: 
    """The scalar or composite type that the IR calls ``text``: ``f32``, ``vec<3,f32>``, ..."""
def is_array(x: Any) -> Any: 
    """True if the value is of kind array."""
def is_composite(x: Any) -> Any: 
    """True if the value is of kind composite."""
def is_float(x: Any) -> Any: 
    """True if the value is of kind float."""
def is_generic(t: Any) -> Any: 
    """True if the type has a placeholder (Any, Float, Int, Scalar) somewhere."""
def is_int(x: Any) -> Any: 
    """True if the value is of kind int."""
def is_matrix(x: Any) -> Any: 
    """True if the value is of kind matrix."""
def is_quaternion(x: Any) -> Any: 
    """True if the value is of kind quaternion."""
def is_scalar(x: Any) -> Any: 
    """True if the value is of kind scalar."""
def is_struct(x: Any) -> Any: 
    """True if the value is of kind struct."""
def is_transformation(x: Any) -> Any: 
    """True if the value is of kind transformation."""
def is_type(t: Any) -> Any: 
    """True if ``t`` names a kernel type."""
def is_value(x: Any) -> Any: 
    """True if the value is of kind value."""
def is_vector(x: Any) -> Any: 
    """True if the value is of kind vector."""
def np_dtype(t: Any) -> Any: 
    """NumPy dtype of one value: scalars, (3,) float32 for vec3, C layout for structs."""
def struct_bytes(value: Any) -> Any: 
    """The bytes of a struct value in C layout. An array field is its 88-byte descriptor, which the array gives by ``__wt_descriptor__()``; an unset one is zeros."""
def struct_from_bytes(cls: Any, data: Any) -> Any: 
    """The struct value whose C layout is ``data``; array fields come back unset."""
def type_is_array(t: Any) -> Any: 
    """True if the type is of kind array."""
def type_is_composite(t: Any) -> Any: 
    """True if the type is of kind composite."""
def type_is_float(t: Any) -> Any: 
    """True if the type is of kind float."""
def type_is_int(t: Any) -> Any: 
    """True if the type is of kind int."""
def type_is_matrix(t: Any) -> Any: 
    """True if the type is of kind matrix."""
def type_is_quaternion(t: Any) -> Any: 
    """True if the type is of kind quaternion."""
def type_is_scalar(t: Any) -> Any: 
    """True if the type is of kind scalar."""
def type_is_struct(t: Any) -> Any: 
    """True if the type is of kind struct."""
def type_is_transformation(t: Any) -> Any: 
    """True if the type is of kind transformation."""
def type_is_value(t: Any) -> Any: 
    """True if the type is of kind value."""
def type_is_vector(t: Any) -> Any: 
    """True if the type is of kind vector."""
def type_name(t: Any) -> Any: 
    """The Python-side name, for messages: ``float32``, ``vec3f``, ``array(dtype=..., ndim=1)``."""
def type_repr(t: Any) -> Any: 
    """The type's name."""
def type_size(t: Any) -> Any: 
    """Number of components of a value."""
def type_size_in_bytes(t: Any) -> Any: 
    """Bytes of one value."""
def type_text(t: Any) -> Any: 
    """The IR's text of a type: ``f32``, ``vec<3,f32>``, ``array<f64,2>``, ``struct<Body>``."""
def types_equal(a: Any, b: Any) -> Any: 
    """True if both name the same kernel type; ``float`` is ``float32``."""

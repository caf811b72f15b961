package cpu

import (
	"reflect"
	"unsafe"
)

// PoisonScratch fills all scratch memory with bytes 0xFF, except memory that holds pointers.
func (b *Backend) PoisonScratch() {
	for _, list := range b.scratch {
		v := reflect.ValueOf(list)
		if pointers(v.Type().Elem()) {
			continue
		}
		v = v.Slice(0, v.Cap())
		size := v.Len() * int(v.Type().Elem().Size())
		if size == 0 {
			continue
		}
		for i := range unsafe.Slice((*byte)(v.UnsafePointer()), size) {
			unsafe.Slice((*byte)(v.UnsafePointer()), size)[i] = 0xFF
		}
	}
}

// pointers reports whether values of t hold pointers.
func pointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return pointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if pointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface, reflect.String, reflect.Func, reflect.Chan,
		reflect.UnsafePointer:
		return true
	}
	return false
}

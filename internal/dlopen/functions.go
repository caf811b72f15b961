package dlopen

import (
	"bytes"
	"reflect"
	"unsafe"
)

// Functions fills a structure with addresses of functions. It sets every field of type uintptr that has
// a tag, which names the function:
//
//	init uintptr `name:"cuInit"`
//
// functions points to the structure. The error names the first function that is missing.
func (l *Library) Functions(functions any) error {
	v := reflect.ValueOf(functions).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("name")
		if name == "" {
			continue
		}
		fn, err := l.Symbol(name)
		if err != nil {
			return err
		}
		*(*uintptr)(v.Field(i).Addr().UnsafePointer()) = fn
	}
	return nil
}

// Address returns the address of a variable as an argument of Call. It forces the variable onto
// the heap, since a stack moves when it grows and C would write to the old place. The caller
// keeps the variable alive until Call has returned.
func Address[T any](p *T) uintptr {
	if escapes.always {
		escapes.to = p
	}
	return uintptr(unsafe.Pointer(p))
}

// escapes makes the compiler assume that a pointer is stored.
var escapes struct {
	always bool // never set
	to     any
}

// Text copies the text that C returned at address p, up to 512 bytes.
func Text(p uintptr) string {
	if p == 0 {
		return ""
	}
	text := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), 512)
	n := bytes.IndexByte(text, 0)
	return string(text[:max(n, 0)])
}

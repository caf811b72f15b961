package settings

import (
	"fmt"
	"reflect"
	"time"
)

// Misfit returns the error for a text that is not a valid value of a type.
func Misfit(text string, t reflect.Type) error {
	return fmt.Errorf("%s is not %s", text, Kind(t))
}

// Kind describes the values of a type in a user's words: "a whole number".
func Kind(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration (90s, 5m)"
	case t.Kind() == reflect.Pointer:
		return Kind(t.Elem())
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Slice:
		return "a list; each is " + Kind(t.Elem())
	case t.Kind() == reflect.Array:
		return fmt.Sprintf("a list of %d; each is %s", t.Len(), Kind(t.Elem()))
	case t.Kind() == reflect.Map:
		return "a group of keys"
	case t.Kind() == reflect.String:
		return "a text"
	case IsReal(t):
		return "a number"
	case reflect.Zero(t).CanUint():
		return "a whole number from 0 up"
	case reflect.Zero(t).CanInt():
		return "a whole number"
	}
	return t.String()
}

// IsReal reports whether a type holds floating-point numbers.
func IsReal(t reflect.Type) bool { return t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 }

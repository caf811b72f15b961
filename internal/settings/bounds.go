package settings

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Bounds are the smallest and the largest allowed value of a numeric setting. The field's tag
// holds them: range:"1 65536". For a list they apply to each number.
type Bounds struct {
	Least float64 // smallest value allowed
	Most  float64 // greatest value allowed
}

// unbounded returns default bounds for a number in a table entry that declares none. They
// reject negative counts, and numbers so large that they must be a typing error.
func unbounded(t reflect.Type) Bounds {
	if IsReal(t) {
		return Bounds{-1e9, 1e9}
	}
	return Bounds{0, 1e6}
}

// BoundsOf parses the bounds in the tag of a field. It returns false if there are none, and
// panics if they are not two numbers.
func BoundsOf(f reflect.StructField) (Bounds, bool) {
	text, ok := f.Tag.Lookup("range")
	if !ok {
		return Bounds{}, false
	}
	least, most, _ := strings.Cut(text, " ")
	low, err := strconv.ParseFloat(least, 64)
	high, err2 := strconv.ParseFloat(most, 64)
	if err := errors.Join(err, err2); err != nil {
		panic(fmt.Sprintf("settings: the range %.80q of %s: %v", text, f.Name, err))
	}
	return Bounds{low, high}, true
}

// BoundsError is the error for a setting outside its bounds.
type BoundsError struct {
	Key   string  // dotted key of the setting
	Value float64 // value of the setting
	Want  Bounds  // allowed range
	Whole bool    // whether the setting is a whole number
}

// Error names the setting and its bounds.
func (e *BoundsError) Error() string {
	kind := "a number"
	if e.Whole {
		kind = "a whole number"
	}
	return fmt.Sprintf("%s is %s, want %s from %s to %s", e.Key, number(e.Value), kind, number(e.Want.Least),
		number(e.Want.Most))
}

func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// Check compares every number in the settings that ptr points to with its bounds. It returns a
// *[BoundsError] for the first one outside. It skips fields without bounds.
func Check(ptr any) error { return check(reflect.ValueOf(ptr), "", false) }

// CheckEntry is Check for a table entry. Numbers without declared bounds get wide ones, so
// that a typing error is reported and does not crash the program.
func CheckEntry(entry any) error { return check(reflect.ValueOf(entry), "", true) }

func check(v reflect.Value, path string, entry bool) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, inline := Key(f)
		if key == "-" || !f.IsExported() {
			continue
		}
		here := path
		if !inline {
			here = strings.TrimPrefix(path+"."+key, ".")
		}
		bounds, bounded := BoundsOf(f)
		if !bounded && entry && Numeric(f.Type) {
			bounds, bounded = unbounded(element(f.Type)), true
		}
		var err error
		if bounded {
			err = within(v.Field(i), here, bounds)
		} else {
			err = check(v.Field(i), here, entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// within compares a number, or each number of a list, with bounds.
func within(v reflect.Value, key string, want Bounds) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return within(v.Elem(), key, want)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := within(v.Index(i), key, want); err != nil {
				return err
			}
		}
		return nil
	}
	var x float64
	switch {
	case v.CanFloat():
		x = v.Float()
	case v.CanUint():
		x = float64(v.Uint())
	default:
		x = float64(v.Int())
	}
	if !(x >= want.Least && x <= want.Most) { // NaN is outside all bounds
		return &BoundsError{Key: key, Value: x, Want: want, Whole: !v.CanFloat()}
	}
	return nil
}

// Numeric reports whether a type holds a number or a list of numbers. A named type, such
// as an enumeration, does not count as a number.
func Numeric(t reflect.Type) bool {
	t = element(t)
	if t.Name() != t.Kind().String() { // a named type
		return false
	}
	zero := reflect.Zero(t)
	return IsReal(t) || zero.CanInt() || zero.CanUint()
}

// element returns the type of the values in a list or behind a pointer.
func element(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return element(t.Elem())
	}
	return t
}

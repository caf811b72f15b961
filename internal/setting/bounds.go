package setting

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// A numeric setting has bounds, which its field says in a tag:
//
//	range:"1 65536"    the least and the greatest value, both allowed
//
// A list has those of each of its numbers.

// Bounds are the least and the greatest value of a setting.
type Bounds struct{ Least, Most float64 }

// unbounded are the bounds of numbers in an entry of a table that says none: what is
// counted is not negative, and nothing is so great that it stands for a slip.
func unbounded(t reflect.Type) Bounds {
	if IsReal(t) {
		return Bounds{-1e9, 1e9}
	}
	return Bounds{0, 1e6}
}

// BoundsOf reads the tag of a field; false where it has none.
func BoundsOf(f reflect.StructField) (Bounds, bool) {
	text, ok := f.Tag.Lookup("range")
	if !ok {
		return Bounds{}, false
	}
	least, most, _ := strings.Cut(text, " ")
	low, err := strconv.ParseFloat(least, 64)
	high, err2 := strconv.ParseFloat(most, 64)
	if err := errors.Join(err, err2); err != nil {
		panic(fmt.Sprintf("setting: the range %.80q of %s: %v", text, f.Name, err))
	}
	return Bounds{low, high}, true
}

// BoundsError says that a setting is out of its bounds.
type BoundsError struct {
	Key   string // dotted
	Value float64
	Want  Bounds
	Whole bool
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

// Check compares every number in a struct of settings, or in what a pointer points
// to, with its bounds. Fields without bounds are left alone. The first that is out of
// them is a *BoundsError.
func Check(settings any) error { return check(reflect.ValueOf(settings), "", false) }

// CheckEntry is Check for an entry of a table, whose keys are those of [Key]. A number
// without bounds of its own has those that keep a slip from being a crash.
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

// within compares a number, or each of a list, with bounds.
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
	if !(x >= want.Least && x <= want.Most) { // NaN is in no bounds
		return &BoundsError{Key: key, Value: x, Want: want, Whole: !v.CanFloat()}
	}
	return nil
}

// Numeric reports whether a type holds numbers: one, or a list of them. A number that
// has names, or text of its own, is none.
func Numeric(t reflect.Type) bool {
	t = element(t)
	if t.Name() != t.Kind().String() { // a type of its own
		return false
	}
	zero := reflect.Zero(t)
	return IsReal(t) || zero.CanInt() || zero.CanUint()
}

// element is the type of a list's, or a pointer's, values.
func element(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return element(t.Elem())
	}
	return t
}

// Key is the key of a field: what its yaml tag says, or its own name in snake case.
// The fields of an inline one stand beside it.
func Key(f reflect.StructField) (key string, inline bool) {
	key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if options == "inline" || key == "" && f.Anonymous {
		return "", true
	}
	if key == "" {
		key = Snake(f.Name)
	}
	return key, false
}

// Snake writes a Go name as a key: PerTuple is per_tuple, NBins n_bins.
func Snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 {
			before := name[i-1]
			startsWord := i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z'
			if before >= 'a' && before <= 'z' || before >= '0' && before <= '9' || startsWord {
				b.WriteByte('_')
			}
		}
		if upper {
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

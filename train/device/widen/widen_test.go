package widen

import (
	"reflect"
	"slices"
	"testing"

	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/devicetest"
)

// A processor passes the tests of every backend in the short types too.
func TestConformance(t *testing.T) {
	for _, short := range []device.DType{device.BF16, device.F16} {
		t.Run(short.String(), func(t *testing.T) { devicetest.RunOps(t, Backend(cpu.New(2)), short) })
	}
}

// A backend that has both types is not wrapped.
func TestNothingToWiden(t *testing.T) {
	b := Backend(cpu.New(1))
	if again := Backend(b); again != b {
		t.Error("a backend with every type was wrapped")
	}
}

// Every array in the settings of an operation is widened.
func TestArraysInSettingsAreKnown(t *testing.T) {
	array := reflect.TypeFor[device.Array]()
	all := reflect.TypeFor[device.Backend]()
	for i := range all.NumMethod() {
		method := all.Method(i)
		for j := range method.Type.NumIn() {
			in := method.Type.In(j)
			for in.Kind() == reflect.Pointer {
				in = in.Elem()
			}
			if in == array || in.Kind() != reflect.Struct {
				continue
			}
			for _, field := range reflect.VisibleFields(in) {
				if field.Type == array && !slices.Contains(arraysOf[in.String()], field.Name) {
					t.Errorf("%s: %v.%s is not widened", method.Name, in, field.Name)
				}
			}
		}
	}
}

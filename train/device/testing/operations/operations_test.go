package operations

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/train/device"
)

// Read finds every method of a Backend that is an operation.
func TestReadFindsEveryOperation(t *testing.T) {
	list, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, o := range list {
		got = append(got, o.Name)
	}
	all := reflect.TypeFor[device.Backend]()
	for i := range all.NumMethod() {
		if name := all.Method(i).Name; !slices.Contains(NotOperations, name) {
			want = append(want, name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("operations %v, want %v", got, want)
	}
}

// Every result is a parameter or a field of one, and follows the convention that results come first.
func TestResultsAreParameters(t *testing.T) {
	list, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		for _, name := range o.Results() {
			if !slices.ContainsFunc(o.Parameters, func(p Parameter) bool {
				of, field, _ := strings.Cut(name, ".")
				return p == Parameter{name, "device.Array"} || p.Name == of && slices.Contains(arraysIn[p.Type], field)
			}) {
				t.Errorf("%s has no array %s", o.Name, name)
			}
		}
		delete(results, o.Name)
	}
	if len(results) > 0 {
		t.Errorf("there is no operation %v", results)
	}
}

// Every array in the settings of an operation is listed.
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
				if field.Type == array && !slices.Contains(arraysIn[in.String()], field.Name) {
					t.Errorf("%s: %v.%s is not listed", method.Name, in, field.Name)
				}
			}
		}
	}
}

package settings

import (
	"reflect"
	"time"
)

// Schema returns the JSON Schema of a section. about becomes its description. Dotted keys such
// as optim.lr are properties too.
func Schema(ptr any, about string) map[string]any {
	s := schemaOf(reflect.TypeOf(ptr).Elem(), about)
	for _, f := range Fields(ptr) {
		if len(f.Path) > 1 {
			s["properties"].(map[string]any)[f.Key()] = boundedSchema(f.Value.Type(), f.Tag)
		}
	}
	return s
}

// schemaOf returns the schema of a type.
func schemaOf(t reflect.Type, about string) map[string]any {
	s := map[string]any{}
	if about != "" {
		s["description"] = about
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case isGroup(t):
		properties := map[string]any{}
		for _, m := range members(reflect.Zero(t)) {
			properties[m.key] = boundedSchema(m.value.Type(), m.tag)
		}
		kinds := []string{"object", "null"} // null if all keys of the group are commented out
		if _, named := properties[nameKey]; named {
			kinds = append(kinds, "string") // the short form: the name alone
		}
		s["type"], s["properties"], s["additionalProperties"] = kinds, properties, false
	case t == reflect.TypeFor[time.Duration](), t.Kind() == reflect.String:
		s["type"] = "string"
	case t.Kind() == reflect.Bool:
		s["type"] = "boolean"
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		s["type"], s["items"] = "array", schemaOf(t.Elem(), "")
	case IsReal(t):
		s["type"] = "number"
	case reflect.Zero(t).CanInt() || reflect.Zero(t).CanUint():
		s["type"] = "integer"
	}
	return s
}

// boundedSchema returns the schema of a setting, including its bounds.
func boundedSchema(t reflect.Type, tag reflect.StructTag) map[string]any {
	s := schemaOf(t, tag.Get("usage"))
	bounds, bounded := BoundsOf(reflect.StructField{Type: t, Tag: tag})
	if !bounded {
		return s
	}
	number := s
	for inner, list := number["items"].(map[string]any); list; inner, list = number["items"].(map[string]any) {
		number = inner
	}
	number["minimum"], number["maximum"] = bounds.Least, bounds.Most
	return s
}

package pretrained

import "fmt"

// facts are the values of a JSON object. A value of another kind than asked for is recorded in bad.
type facts struct {
	at     string // where they are, for messages
	values map[string]any
	bad    *[]error
}

func (f facts) has(key string) bool { return f.values[key] != nil }

// no reports whether a value is false.
func (f facts) no(key string) bool { return f.values[key] == false }

func (f facts) wrong(key, want string) {
	*f.bad = append(*f.bad, fmt.Errorf("%s: %s is %.60v, want %s", f.at, key, f.values[key], want))
}

// in returns the object under a key, which may be missing.
func (f facts) in(key string) facts {
	inner, is := f.values[key].(map[string]any)
	if f.has(key) && !is {
		f.wrong(key, "an object")
	}
	return facts{f.at + "." + key, inner, f.bad}
}

func (f facts) text(key string) string {
	text, is := f.values[key].(string)
	if f.has(key) && !is {
		f.wrong(key, "a text")
	}
	return text
}

func (f facts) number(key string) float64 {
	n, is := f.values[key].(float64)
	if f.has(key) && !is {
		f.wrong(key, "a number")
	}
	return n
}

// three returns three numbers, or one for all three channels.
func (f facts) three(key string) (list [3]float32) {
	switch v := f.values[key].(type) {
	case nil:
	case float64:
		return [3]float32{float32(v), float32(v), float32(v)}
	case []any:
		if len(v) != 1 && len(v) != 3 {
			f.wrong(key, "three numbers")
			return list
		}
		for i := range list {
			n, is := v[min(i, len(v)-1)].(float64)
			if !is {
				f.wrong(key, "three numbers")
				break
			}
			list[i] = float32(n)
		}
	default:
		f.wrong(key, "three numbers")
	}
	return list
}

// side returns the side of a square: a number, two equal numbers, or an object with height and width.
// Without a key, f is that object.
func (f facts) side(key string) int {
	if key == "" {
		return int(f.number("height"))
	}
	switch v := f.values[key].(type) {
	case map[string]any:
		in := f.in(key)
		if in.has("shortest_edge") {
			return int(in.number("shortest_edge"))
		}
		return in.side("")
	case []any:
		if len(v) == 2 && v[0] == v[1] {
			n, _ := v[0].(float64)
			return int(n)
		}
		f.wrong(key, "a square")
		return 0
	}
	return int(f.number(key))
}

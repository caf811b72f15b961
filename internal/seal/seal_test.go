package seal

import (
	"bytes"
	"encoding/json"
	"testing"

	"hgld/internal/testing/must"
)

// Every change of one byte, every cut and every doubled line of a sealed file is found. Only white space
// between the members of JSON is free.
func TestEveryChangeIsFound(t *testing.T) {
	sealed, err := MarshalJSON(map[string]any{"a": 1, "b": []string{"x y", "é"}, "c": map[string]any{"d": nil}})
	must.Do(t, err)
	compact := func(text []byte) string {
		var b bytes.Buffer
		if json.Compact(&b, text) != nil {
			return ""
		}
		return b.String()
	}
	for _, c := range []struct {
		text  []byte
		check func([]byte) error
		free  func(changed []byte) bool
	}{
		{sealed, CheckJSON, func(changed []byte) bool { return compact(changed) == compact(sealed) }},
		{Lines([]byte("a: 1\nb: [x]\n")), CheckLines, func([]byte) bool { return false }},
		{Lines(nil), CheckLines, func([]byte) bool { return false }},
	} {
		if err := c.check(c.text); err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
		damaged := func(changed []byte) {
			if !bytes.Equal(changed, c.text) && !c.free(changed) && c.check(changed) == nil {
				t.Errorf("%q passes for %q", changed, c.text)
			}
		}
		for i := range c.text {
			damaged(c.text[:i])
			damaged(c.text[i:])
			damaged(append(bytes.Clone(c.text[:i]), c.text[min(i+1, len(c.text)):]...))
			damaged(append(bytes.Clone(c.text[:i]), append([]byte("\n"), c.text[i:]...)...))
			for bit := range 8 {
				changed := bytes.Clone(c.text)
				changed[i] ^= 1 << bit
				damaged(changed)
			}
		}
		damaged(append(bytes.Clone(c.text), c.text...))
	}
}

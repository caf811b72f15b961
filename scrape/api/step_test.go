package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// stepByBytes is stepNested byte by byte.
func stepByBytes(data []byte, i int) int {
	depth, inside, escaped := 0, false, false
	for ; i < len(data); i++ {
		b := data[i]
		plain := !escaped || b != '"' && b != '\\'
		escaped = plain && b == '\\'
		switch {
		case plain && b == '"':
			inside = !inside
		case inside:
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			depth--
		}
		if depth > maxDepth {
			return -1
		}
		if depth == 0 {
			return i + 1
		}
	}
	return -1
}

var steps = []string{
	`{}`, `[]`, `[[],{}] `, `{"a":1}x`, `{"a":"}"}`, `{"a":"\"}"}`, `{"a":"\\"}`, `{"a":"\\\"}"}}`,
	`["\\\\\\\\\\\\\\\"]"]`, `["xxxxxx\\","]"]`, `["xxxxx\\\"]"]`,
	`{"Y_y":"Y_y",` + "\x7f" + `"":[]}`, "[\"\xc3\xa9]\xff\xbb\xa2\"]", `[`, `{"`, `["]`,
	strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
	strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
	strings.Repeat(`{"a":[`, 20) + strings.Repeat(`]}`, 20), `[[[[[[[[]]]]]]]],`, `]`, `\["\"]`,
}

func checkStep(t *testing.T, data []byte) {
	t.Helper()
	if len(data) == 0 || data[0] != '{' && data[0] != '[' {
		return
	}
	for from := range min(len(data), 9) { // at every offset from a word
		if data[from] != '{' && data[from] != '[' {
			continue
		}
		if got, want := stepNested(data, from), stepByBytes(data, from); got != want {
			t.Errorf("%.200q from %d: %d, want %d", data, from, got, want)
		}
	}
	var whole json.RawMessage
	if json.Unmarshal(data, &whole) == nil && stepByBytes(data, 0) > 0 {
		if got := stepValue(data, 0); got != len(strings.TrimRight(string(data), " \t\r\n")) {
			t.Errorf("%.200q: %d of %d bytes", data, got, len(data))
		}
	}
}

func TestWordwiseScanEqualsBytewiseScan(t *testing.T) {
	for _, text := range steps {
		for pad := range 9 {
			checkStep(t, []byte("["+strings.Repeat(" ", pad)+text+"]"))
		}
		checkStep(t, []byte(text))
	}
}

func FuzzStep(f *testing.F) {
	for _, text := range steps {
		f.Add([]byte(text))
	}
	f.Fuzz(checkStep)
}

package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A set of claims has a hundred properties, of which three are wanted. These
// functions step over the rest without decoding it, ten times as fast as
// encoding/json. What they step over is checked for balance and for nothing else.

var errBroken = errors.New("the JSON text breaks off or is not well formed")

// maxDepth bounds the nesting that is stepped over; Wikibase has about 12.
const maxDepth = 64

// members calls use for every member of an object, in order. data holds nothing but
// the object and white space.
func members(data []byte, use func(key string, value []byte) error) error {
	i := blank(data, 0)
	if i >= len(data) || data[i] != '{' {
		return fmt.Errorf("want an object, got %.20q", data[min(i, len(data)):])
	}
	i = blank(data, i+1)
	if i < len(data) && data[i] == '}' {
		return end(data, i+1)
	}
	for {
		start := i
		if i >= len(data) || data[i] != '"' {
			return errBroken
		}
		if i = stepString(data, i); i < 0 {
			return errBroken
		}
		key, err := text(data[start:i])
		if err != nil {
			return err
		}
		if i = blank(data, i); i >= len(data) || data[i] != ':' {
			return errBroken
		}
		i = blank(data, i+1)
		start = i
		if i = stepValue(data, i); i < 0 {
			return errBroken
		}
		if err := use(key, data[start:i]); err != nil {
			return err
		}
		i = blank(data, i)
		switch {
		case i >= len(data):
			return errBroken
		case data[i] == '}':
			return end(data, i+1)
		case data[i] != ',':
			return errBroken
		}
		i = blank(data, i+1)
	}
}

// end checks that nothing but white space follows.
func end(data []byte, i int) error {
	if i = blank(data, i); i < len(data) {
		return fmt.Errorf("more text behind its end: %.20q", data[i:])
	}
	return nil
}

func text(quoted []byte) (string, error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

func blank(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// stepString returns the offset behind the string that begins at i, or -1.
func stepString(data []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// bracket classes the bytes that matter outside of strings.
var bracket = [256]int8{'{': 1, '[': 1, '}': -1, ']': -1, '"': 2}

// stepValue returns the offset behind the value that begins at i, or -1.
func stepValue(data []byte, i int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return stepString(data, i)
	case '{', '[':
	default:
		start := i
		for i < len(data) && data[i] != ',' && data[i] != '}' && data[i] != ']' && data[i] > ' ' {
			i++
		}
		if !json.Valid(data[start:i]) {
			return -1
		}
		return i
	}
	depth := 0
	for i < len(data) {
		switch bracket[data[i]] {
		case 1:
			if depth++; depth > maxDepth {
				return -1
			}
		case -1:
			if depth--; depth == 0 {
				return i + 1
			}
		case 2:
			if i = stepString(data, i); i < 0 {
				return -1
			}
			continue
		}
		i++
	}
	return -1
}

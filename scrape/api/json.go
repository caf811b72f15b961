package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// A set of claims has a hundred properties, of which three are wanted. A cursor goes
// over the text once, into the objects that are asked for, and steps over the rest
// without decoding it. What it steps over is checked for balance and for nothing else.
type cursor struct {
	data []byte
	at   int
}

var errBroken = errors.New("the JSON text breaks off or is not well formed")

// maxDepth bounds the nesting that is stepped over; Wikibase has about 12.
const maxDepth = 64

// document calls use for every member of the object that is all of the text.
func document(data []byte, use func(c *cursor, key []byte) error) error {
	c := &cursor{data: data}
	if err := c.object(use); err != nil {
		return err
	}
	if c.blank(); c.at < len(data) {
		return fmt.Errorf("more text behind its end: %.20q", data[c.at:])
	}
	return nil
}

// object calls use for every member of the object at the cursor. use either reads
// the value, with a method of the cursor, or leaves it, which steps over it.
func (c *cursor) object(use func(c *cursor, key []byte) error) error {
	c.blank()
	if !c.take('{') {
		return fmt.Errorf("want an object, got %.20q", c.data[min(c.at, len(c.data)):])
	}
	if c.blank(); c.take('}') {
		return nil
	}
	for {
		key, err := c.key()
		if err != nil {
			return err
		}
		start := c.at
		if err := use(c, key); err != nil {
			return err
		}
		if c.at == start {
			if _, err := c.raw(); err != nil {
				return err
			}
		}
		switch c.blank(); {
		case c.take('}'):
			return nil
		case !c.take(','):
			return errBroken
		}
		c.blank()
	}
}

// key reads a key and the colon behind it.
func (c *cursor) key() ([]byte, error) {
	start := c.at
	if c.at >= len(c.data) || c.data[c.at] != '"' {
		return nil, errBroken
	}
	if c.at = stepString(c.data, c.at); c.at < 0 {
		return nil, errBroken
	}
	key := c.data[start+1 : c.at-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		var text string
		if err := json.Unmarshal(c.data[start:c.at], &text); err != nil {
			return nil, err
		}
		key = []byte(text)
	}
	if c.blank(); !c.take(':') {
		return nil, errBroken
	}
	c.blank()
	return key, nil
}

// raw returns the value at the cursor and steps over it.
func (c *cursor) raw() ([]byte, error) {
	start := c.at
	if c.at = stepValue(c.data, c.at); c.at < 0 {
		c.at = len(c.data)
		return nil, errBroken
	}
	return c.data[start:c.at], nil
}

// decode reads the value at the cursor into v.
func (c *cursor) decode(v any) error {
	text, err := c.raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// list says whether the value at the cursor is a list: PHP writes an empty object so.
func (c *cursor) list() bool { return c.at < len(c.data) && c.data[c.at] == '[' }

func (c *cursor) take(b byte) bool {
	if c.at < len(c.data) && c.data[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *cursor) blank() {
	for c.at < len(c.data) && c.data[c.at] <= ' ' && (c.data[c.at] == ' ' || c.data[c.at] == '\n' || c.data[c.at] == '\t' || c.data[c.at] == '\r') {
		c.at++
	}
}

// stepString returns the offset behind the string that begins at i, or -1.
func stepString(data []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		if data[i-1] != '\\' {
			return i + 1
		}
		slashes := 1
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
		return stepNested(data, i)
	}
	start := i
	for i < len(data) && data[i] != ',' && data[i] != '}' && data[i] != ']' && data[i] > ' ' {
		i++
	}
	if !json.Valid(data[start:i]) {
		return -1
	}
	return i
}

func stepNested(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		class := bracket[data[i]]
		switch {
		case class == 0:
			i++
		case class == 2:
			if i = stepString(data, i); i < 0 {
				return -1
			}
		default:
			i++
			if depth += int(class); depth == 0 {
				return i
			}
			if depth > maxDepth {
				return -1
			}
		}
	}
	return -1
}

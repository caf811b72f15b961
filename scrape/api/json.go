package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A cursor reads JSON in one pass and skips what the caller does not need: a set of claims
// has a hundred properties, of which hgld reads three. Skipped text is checked for balanced
// brackets and quotes only.
type cursor struct {
	data []byte
	at   int
}

var errBroken = errors.New("the JSON text is truncated or malformed")

// maxDepth limits the nesting of skipped values. Wikibase's replies have about 12 levels.
const maxDepth = 64

// document calls use for every member of the object that makes up the whole text.
func document(data []byte, use func(c *cursor, key []byte) error) error {
	c := &cursor{data: data}
	if err := c.object(use); err != nil {
		return err
	}
	if c.blank(); c.at < len(data) {
		return fmt.Errorf("there is text after the JSON value: %.20q", data[c.at:])
	}
	return nil
}

// object calls use for every member of the object at the cursor. use reads the value with a
// method of the cursor, or leaves it, and then object skips it.
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

// key reads a key and the colon after it.
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

// raw returns the text of the value at the cursor and moves past it.
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

// array calls use for every element of the list at the cursor. use must read the element.
func (c *cursor) array(use func(c *cursor) error) error {
	if !c.take('[') {
		return fmt.Errorf("want a list, got %.20q", c.data[min(c.at, len(c.data)):])
	}
	if c.blank(); c.take(']') {
		return nil
	}
	for {
		c.blank()
		if err := use(c); err != nil {
			return err
		}
		switch c.blank(); {
		case c.take(']'):
			return nil
		case !c.take(','):
			return errBroken
		}
	}
}

// text reads the string at the cursor. null reads as "".
func (c *cursor) text() (string, error) {
	raw, err := c.raw()
	if err != nil {
		return "", err
	}
	if n := len(raw); n >= 2 && raw[0] == '"' {
		plain := raw[1 : n-1]
		for _, b := range plain {
			if b == '\\' || b < ' ' || b >= utf8.RuneSelf {
				plain = nil
				break
			}
		}
		if plain != nil {
			return string(plain), nil
		}
	}
	var text string
	err = json.Unmarshal(raw, &text)
	return text, err
}

// number reads the integer at the cursor. null reads as 0.
func (c *cursor) number() (int64, error) {
	raw, err := c.raw()
	if err != nil || string(raw) == "null" {
		return 0, err
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a 64-bit integer", raw)
	}
	return n, nil
}

// list reports whether the value at the cursor is a list. PHP encodes empty objects as lists.
func (c *cursor) list() bool { return c.at < len(c.data) && c.data[c.at] == '[' }

func (c *cursor) take(b byte) bool {
	if c.at < len(c.data) && c.data[c.at] == b {
		c.at++
		return true
	}
	return false
}

func (c *cursor) blank() {
	for c.at < len(c.data) && c.data[c.at] <= ' ' && (c.data[c.at] == ' ' || c.data[c.at] == '\n' ||
		c.data[c.at] == '\t' || c.data[c.at] == '\r') {
		c.at++
	}
}

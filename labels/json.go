package labels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// encoding/json takes the last of two equal keys, matches keys in any case, turns
// broken UTF-8 into U+FFFD and ignores unknown fields. In files that people edit and
// merge by hand, each of these loses labels silently. This file therefore reads JSON by
// position: every error names its line, and unknown fields are kept.

const (
	maxLine     = 1 << 20   // bytes of a line of tags.jsonl or a field of a CSV
	maxDocument = 256 << 20 // bytes of draft.json and hierarchy.json: 57,000 tags take 8 MB
	maxNesting  = 64        // our own files need five levels
)

// document is JSON text with its file name and first line for messages.
type document struct {
	name string
	line int // of the first byte, 1 for a whole file
	data []byte
}

// span is the position of a value in a document.
type span struct{ start, end int }

// member is a key of an object and the position of its value.
type member struct {
	key   string
	at    int // offset of the key
	value span
}

// readDocument reads a whole JSON file and checks it.
func readDocument(r io.Reader, name string) (*document, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxDocument {
		return nil, fmt.Errorf("%s: larger than %d MiB; this is not a file that hgld wrote", name, maxDocument>>20)
	}
	d := &document{name: name, line: 1, data: data}
	return d, d.check()
}

// errorf returns an error that begins with the file and the line of offset at.
func (d *document) errorf(at int, format string, args ...any) error {
	at = min(max(at, 0), len(d.data))
	line := d.line + bytes.Count(d.data[:at], []byte{'\n'})
	return fmt.Errorf("%s:%d: %w", d.name, line, fmt.Errorf(format, args...))
}

// check checks that the document is one JSON value that can be read without loss: UTF-8
// without byte order mark and NUL, no duplicate key in an object, no half of a
// surrogate pair.
func (d *document) check() error {
	if bytes.HasPrefix(d.data, []byte("\xef\xbb\xbf")) {
		return d.errorf(0, "begins with a byte order mark; save the file as UTF-8 without one")
	}
	if i := bytes.IndexByte(d.data, 0); i >= 0 {
		return d.errorf(i, "contains a NUL byte; want JSON text")
	}
	if i := invalidUTF8(d.data); i >= 0 {
		return d.errorf(i, "byte %#02x is not UTF-8; save the file as UTF-8", d.data[i])
	}
	if !json.Valid(d.data) {
		return d.syntaxError(json.Unmarshal(d.data, new(json.RawMessage)))
	}
	return d.checkValue(d.root(), 0)
}

// syntaxError adds the line to a message of encoding/json.
func (d *document) syntaxError(err error) error {
	at := len(d.data)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = int(syntax.Offset) - 1
	}
	if len(bytes.TrimSpace(d.data)) == 0 {
		return d.errorf(0, "is empty; want a JSON object")
	}
	if strings.Contains(err.Error(), "after top-level value") {
		return d.errorf(at, "there is text after the JSON value; remove it")
	}
	if strings.Contains(err.Error(), "unexpected end") {
		return d.errorf(len(d.data), "the JSON text is incomplete; the file was cut short")
	}
	return d.errorf(at, "not valid JSON: %w", err)
}

func (d *document) root() span { return span{skipSpace(d.data, 0), len(d.data)} }

// checkValue checks the strings and keys of a syntactically valid value.
func (d *document) checkValue(s span, depth int) error {
	if depth > maxNesting {
		return d.errorf(s.start, "nested more than %d deep", maxNesting)
	}
	switch d.data[s.start] {
	case '"':
		return d.checkString(s.start)
	case '[':
		for _, e := range d.elements(s) {
			if err := d.checkValue(e, depth+1); err != nil {
				return err
			}
		}
	case '{':
		members := d.members(s)
		for _, m := range members {
			if err := d.checkString(m.at); err != nil {
				return err
			}
			if err := d.checkValue(m.value, depth+1); err != nil {
				return err
			}
		}
		return d.checkKeys(members)
	}
	return nil
}

// checkKeys rejects duplicate keys.
func (d *document) checkKeys(members []member) error {
	seen := map[string]bool{}
	for i, m := range members {
		twice := seen[m.key]
		if len(members) <= 32 { // our own objects: faster without the map
			twice = slices.ContainsFunc(members[:i], func(other member) bool { return other.key == m.key })
		} else {
			seen[m.key] = true
		}
		if twice {
			return d.errorf(m.at, "field %.80q occurs twice in one object; keep one of them", m.key)
		}
	}
	return nil
}

// checkString rejects escapes that are not text.
func (d *document) checkString(start int) error {
	text := d.data[start:skipString(d.data, start)]
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		u := hex4(text[i+1:])
		i += 4
		switch {
		case u == 0:
			return d.errorf(start+i, "a string contains a NUL; want text")
		case 0xD800 <= u && u < 0xDC00 && bytes.HasPrefix(text[i+1:], []byte(`\u`)) && hex4(text[i+3:])>>10 == 0xDC00>>10:
			i += 6
		case 0xD800 <= u && u < 0xE000:
			return d.errorf(start+i, `\u%04x is half of a surrogate pair, not a character`, u)
		}
	}
	return nil
}

// members returns the fields of the object at s in file order.
func (d *document) members(s span) []member {
	all := make([]member, 0, 16)
	for i := skipSpace(d.data, s.start+1); d.data[i] != '}'; {
		m := member{at: i}
		end := skipString(d.data, i)
		m.key = unquote(d.data[i:end])
		m.value.start = skipSpace(d.data, skipSpace(d.data, end)+1)
		m.value.end = skipValue(d.data, m.value.start)
		all = append(all, m)
		if i = skipSpace(d.data, m.value.end); d.data[i] == ',' {
			i = skipSpace(d.data, i+1)
		}
	}
	return all
}

// elements returns the values of the array at s.
func (d *document) elements(s span) []span {
	var all []span
	for i := skipSpace(d.data, s.start+1); d.data[i] != ']'; {
		e := span{i, skipValue(d.data, i)}
		all = append(all, e)
		if i = skipSpace(d.data, e.end); d.data[i] == ',' {
			i = skipSpace(d.data, i+1)
		}
	}
	return all
}

// required names the fields that an object must have, by the struct that it is decoded into.
var required = map[reflect.Type][]string{
	reflect.TypeFor[Record]():        {"landmark_id", "split", "outcome"},
	reflect.TypeFor[Item]():          {"id"},
	reflect.TypeFor[Draft]():         {"tags", "clusters"},
	reflect.TypeFor[DraftTag]():      {"name"},
	reflect.TypeFor[Cluster]():       {"id", "name", "members"},
	reflect.TypeFor[Member]():        {"tag"},
	reflect.TypeFor[Hierarchy]():     {"levels"},
	reflect.TypeFor[Rule]():          {"expression"},
	reflect.TypeFor[Level]():         {"name", "classes"},
	reflect.TypeFor[Class]():         {"name", "parent"},
	reflect.TypeFor[Table]():         {"levels", "rows"},
	reflect.TypeFor[LandmarkLabel](): {"split", "landmark_id", "names"},
}

// decode decodes the document into the struct that v points to. Structs with a field Extra keep there the fields that
// they do not know, at any depth. A field that differs from a known one only in case is an error, and so is a missing
// required one.
func (d *document) decode(v any) error {
	value := reflect.ValueOf(v).Elem()
	fill, err := d.object(d.root(), value.Type())
	if err != nil {
		return err
	}
	if err := d.value(d.root(), v); err != nil {
		return err
	}
	if fill != nil {
		fill(value)
	}
	return nil
}

// object checks the object at s, which is decoded into a struct of type t with a field Extra. The function that it
// returns sets that field and those of the structs within, once they are decoded; nil: all stay nil.
func (d *document) object(s span, t reflect.Type) (fill func(reflect.Value), err error) {
	members, err := d.fields(s, required[t]...)
	if err != nil {
		return nil, err
	}
	known := fieldsOf(t)
	extra, err := d.unknown(members, known.names)
	if err != nil {
		return nil, err
	}
	if extra != nil {
		fill = func(v reflect.Value) { v.FieldByName("Extra").Set(reflect.ValueOf(extra)) }
	}
	for _, m := range members {
		field, nested := known.nested[m.key]
		if !nested {
			continue
		}
		inner, err := d.nested(m, field.Type)
		if err != nil {
			return nil, err
		}
		if outer := fill; inner != nil {
			fill = func(v reflect.Value) {
				if outer != nil {
					outer(v)
				}
				inner(v.FieldByIndex(field.Index))
			}
		}
	}
	return fill, nil
}

// nested is object for a member that is a struct, or a list of structs.
func (d *document) nested(m member, t reflect.Type) (fill func(reflect.Value), err error) {
	if t.Kind() == reflect.Struct {
		return d.object(m.value, t)
	}
	elements, err := d.list(m.key, m.value)
	if err != nil {
		return nil, err
	}
	fills := map[int]func(reflect.Value){}
	for i, e := range elements {
		one, err := d.object(e, t.Elem())
		if err != nil {
			return nil, err
		}
		if one != nil {
			fills[i] = one
		}
	}
	if len(fills) == 0 {
		return nil, nil
	}
	return func(v reflect.Value) {
		for i, one := range fills {
			one(v.Index(i))
		}
	}, nil
}

// fields returns the members of the object at s. It checks that it is an object and has
// the required fields.
func (d *document) fields(s span, required ...string) ([]member, error) {
	if d.data[s.start] != '{' {
		return nil, d.errorf(s.start, "want an object {…}, got %s", kindOf(d.data[s.start]))
	}
	members := d.members(s)
	for _, name := range required {
		i := slices.IndexFunc(members, func(m member) bool { return m.key == name })
		if i < 0 {
			return nil, d.errorf(s.start, "field %.80q is missing", name)
		}
		if at := members[i].value.start; d.data[at] == 'n' {
			return nil, d.errorf(at, "field %.80q is null; want a value", name)
		}
	}
	return members, nil
}

// list returns the elements of the array at s; null is an empty list.
func (d *document) list(name string, s span) ([]span, error) {
	switch d.data[s.start] {
	case '[':
		return d.elements(s), nil
	case 'n':
		return nil, nil
	}
	return nil, d.errorf(s.start, "%s: want a list […], got %s", name, kindOf(d.data[s.start]))
}

// unknown returns the members whose names are not in known.
func (d *document) unknown(members []member, known []string) (map[string]json.RawMessage, error) {
	var extra map[string]json.RawMessage
	for _, m := range members {
		if slices.Contains(known, m.key) {
			continue
		}
		if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, m.key) }); i >= 0 {
			return nil, d.errorf(m.at, "field %.80q: want %.80q; case counts", m.key, known[i])
		}
		if extra == nil {
			extra = map[string]json.RawMessage{}
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, d.data[m.value.start:m.value.end]); err != nil {
			return nil, d.errorf(m.at, "%w", err)
		}
		extra[m.key] = compact.Bytes()
	}
	return extra, nil
}

// value decodes the value at s into v.
func (d *document) value(s span, v any) error {
	err := json.Unmarshal(d.data[s.start:s.end], v)
	if err == nil {
		return nil
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		field := wrong.Field[strings.LastIndex(wrong.Field, ".")+1:] // behind the lists and structs that have it
		if field == "" {
			field = "value"
		}
		return d.errorf(s.start+int(wrong.Offset)-1, "%s: want %s, got %.80s", field, wanted(wrong.Type), wrong.Value)
	}
	return d.errorf(s.start, "%w", err)
}

// version decodes the format version in the field key and checks that this version of
// hgld reads it.
func (d *document) version(key string, reads int) (int, error) {
	root := d.root()
	members, err := d.fields(root)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(members, func(m member) bool { return m.key == key })
	if i < 0 {
		return 0, d.errorf(root.start, "field %.80q is missing: this is not a %s file of hgld", key,
			strings.TrimPrefix(key, "hgld_"))
	}
	var v int
	if err := d.value(members[i].value, &v); err != nil {
		return 0, err
	}
	if v > reads {
		return 0, d.errorf(members[i].at,
			"format version %d of %s is not supported; this hgld reads versions up to %d: use a newer hgld", v, key, reads)
	}
	if v < 1 {
		return 0, d.errorf(members[i].at, "format version %d of %s does not exist; want 1 to %d", v, key, reads)
	}
	return v, nil
}

// wanted describes a Go type in terms of JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	case reflect.Uint64:
		return "a whole number of 0 or more"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// kindOf names the kind of the JSON value that begins with c.
func kindOf(c byte) string {
	switch c {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// structFields are the JSON fields of a struct, including those of embedded structs.
type structFields struct {
	names  []string
	nested map[string]reflect.StructField // structs with a field Extra, and lists of them
}

var knownFields sync.Map // structFields by type

func fieldsOf(t reflect.Type) *structFields {
	if known, ok := knownFields.Load(t); ok {
		return known.(*structFields)
	}
	known := &structFields{nested: map[string]reflect.StructField{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		known.names = append(known.names, name)
		of := f.Type
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			continue
		}
		if _, has := of.FieldByName("Extra"); has {
			known.nested[name] = f
		}
	}
	knownFields.Store(t, known)
	return known
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		if data[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// The functions below walk JSON text that encoding/json has accepted.

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

func skipString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func skipValue(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth < 0 { // the end of what holds a bare number or word
				return i
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		panic(err) // quoted was found valid
	}
	return s
}

func hex4(s []byte) uint64 {
	u, _ := strconv.ParseUint(string(s[:4]), 16, 16) // four hexadecimal digits
	return u
}

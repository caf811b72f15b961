package tensorfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// raw builds a safetensors file from a header and a number of data bytes.
func raw(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// one returns a header with one tensor called a.
func one(dtype, shape, offsets string) string {
	return fmt.Sprintf(`{"a":{"dtype":%s,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
}

// crafted is a file that must be rejected with an error that contains a word.
type crafted struct {
	file []byte
	want string
}

// lengthOf returns a file with the length of a header and nothing else.
func lengthOf(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

var malformed = map[string][]crafted{
	"length": {
		{nil, "too short"}, {[]byte{1}, "too short"}, {make([]byte, 7), "too short"},
		{make([]byte, 8), "begin with {"}, {lengthOf(1 << 63), "at most"}, {lengthOf(headerCap + 1), "at most"},
		{append(lengthOf(100), "{}"...), "cut off"}, {[]byte("\x80\x02}q\x00."), "too short"},
		{[]byte("PK\x03\x04\x14\x00\x00\x00\x08\x08"), "at most"},
		{[]byte("\x93NUMPY\x01\x00\x76\x00{"), "at most"},
	},
	"JSON": {
		{raw("", 0), "begin with {"}, {raw(" {}", 0), "begin with {"}, {raw("[]", 0), "begin with {"},
		{raw("{", 0), "EOF"}, {raw("{}x", 0), "after the JSON"}, {raw("{}{}", 0), "after the JSON"},
		{raw("{\xff}", 0), "UTF-8"}, {raw(`{"a"}`, 0), "invalid"}, {raw(`{"a":}`, 0), "invalid"},
		{raw(`{a:1}`, 0), "invalid"}, {raw(`{"a":1,}`, 0), "object is expected"}, {raw(`{1:2}`, 0), "invalid"},
		{raw("{}\x00\x00", 0), "after the JSON"}, {raw(`{"a":{}`, 0), "needs"},
		{raw(`{"a":{"dtype":"F32"`, 0), "EOF"}, {raw(`{"a":`+strings.Repeat("[", 2000), 0), "object is expected"},
		{raw(`{"a":{"shape":`+strings.Repeat("[", 2000), 0), "number is expected"},
		{raw(`{"a":{"dtype":`+strings.Repeat(`{"b":`, 2000), 0), "unknown type"},
	},
	"metadata": {
		{raw(`{"__metadata__":1}`, 0), "object is expected"}, {raw(`{"__metadata__":[]}`, 0), "object is expected"},
		{raw(`{"__metadata__":{"a":1}}`, 0), "not a string"},
		{raw(`{"__metadata__":{"a":{}}}`, 0), "not a string"}, {raw(`{"__metadata__":{"a":null}}`, 0), "not a string"},
		{raw(`{"__metadata__":{"a":"1","a":"2"}}`, 0), "twice"}, {raw(`{"__metadata__":{},"__metadata__":{}}`, 0), "twice"},
		{raw(`{"__metadata__":{"a":"1"`, 0), "EOF"},
	},
	"entry": {
		{raw(`{"a":1}`, 0), "object is expected"}, {raw(`{"a":null}`, 0), "object is expected"},
		{raw(`{"a":[]}`, 0), "object is expected"}, {raw(`{"a":"F32"}`, 0), "object is expected"},
		{raw(`{"a":{}}`, 0), "needs"}, {raw(`{"a":{"dtype":"F32","shape":[1]}}`, 4), "needs"},
		{raw(`{"a":{"dtype":"F32","data_offsets":[0,4]}}`, 4), "needs"},
		{raw(`{"a":{"shape":[1],"data_offsets":[0,4]}}`, 4), "needs"},
		{raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}`, 4), "unknown key"},
		{raw(`{"a":{"DTYPE":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), "unknown key"},
		{raw(`{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), "twice"},
		{raw(`{"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}}`, 4), "twice"},
		{raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"data_offsets":[0,4]}}`, 4), "twice"},
	},
	"dtype": {
		{raw(one(`"F31"`, "[1]", "[0,4]"), 4), "unknown type"}, {raw(one(`"f32"`, "[1]", "[0,4]"), 4), "unknown type"},
		{raw(one(`"float32"`, "[1]", "[0,4]"), 4), "unknown type"}, {raw(one(`""`, "[1]", "[0,4]"), 4), "unknown type"},
		{raw(one(`1`, "[1]", "[0,4]"), 4), "unknown type"}, {raw(one(`null`, "[1]", "[0,4]"), 4), "unknown type"},
		{raw(one(`["F32"]`, "[1]", "[0,4]"), 4), "unknown type"}, {raw(one(`"O"`, "[1]", "[0,4]"), 4), "unknown type"},
		{raw(one(`"F8_E4M3"`, "[1]", "[0,1]"), 1), "unknown type"}, {raw(one(`"F32 "`, "[1]", "[0,4]"), 4), "unknown type"},
	},
	"shape": {
		{raw(one(`"F32"`, "[-1]", "[0,4]"), 4), "whole number"}, {raw(one(`"F32"`, "[1.0]", "[0,4]"), 4), "whole number"},
		{raw(one(`"F32"`, "[1e0]", "[0,4]"), 4), "whole number"}, {raw(one(`"F32"`, `["1"]`, "[0,4]"), 4), "number is expected"},
		{raw(one(`"F32"`, "1", "[0,4]"), 4), "list is expected"}, {raw(one(`"F32"`, "null", "[0,4]"), 4), "list is expected"},
		{raw(one(`"F32"`, "{}", "[0,4]"), 4), "list is expected"}, {raw(one(`"F32"`, "[null]", "[0,4]"), 4), "number is expected"},
		{raw(one(`"F32"`, "[[1]]", "[0,4]"), 4), "number is expected"}, {raw(one(`"F32"`, "[true]", "[0,4]"), 4), "number is expected"},
		{raw(one(`"F32"`, "[9223372036854775808]", "[0,4]"), 4), "whole number"},
		{raw(one(`"F32"`, "[99999999999999999999999]", "[0,4]"), 4), "whole number"},
		{raw(one(`"F32"`, "[4611686018427387904,4]", "[0,4]"), 4), "2^63"},
		{raw(one(`"F32"`, "[4294967296,4294967296]", "[0,0]"), 0), "2^63"},
		{raw(one(`"F64"`, "[2305843009213693952]", "[0,0]"), 0), "2^63"},
		{raw(one(`"F32"`, "[2147483648,2147483648,2]", "[0,0]"), 0), "2^63"},
		{raw(one(`"F32"`, "[2]", "[0,4]"), 4), "needs 8 bytes"}, {raw(one(`"F32"`, "[0]", "[0,4]"), 4), "needs 0 bytes"},
		{raw(one(`"F32"`, "[]", "[0,8]"), 8), "needs 4 bytes"}, {raw(one(`"F64"`, "[1]", "[0,4]"), 4), "needs 8 bytes"},
		{raw(one(`"U8"`, "["+strings.Repeat("1,", 64)+"1]", "[0,1]"), 1), "more than 64"}, {raw(one(`"F32"`, "[1", "[0,4]"), 4), "number is expected"},
	},
	"offsets": {
		{raw(one(`"F32"`, "[1]", "[4,0]"), 4), "needs 4 bytes"}, {raw(one(`"F32"`, "[1]", "[0]"), 4), "data_offsets"},
		{raw(one(`"F32"`, "[1]", "[]"), 4), "data_offsets"}, {raw(one(`"F32"`, "[1]", "[0,4,8]"), 8), "more than 2"},
		{raw(one(`"F32"`, "[1]", "[-4,0]"), 4), "whole number"}, {raw(one(`"F32"`, "[1]", "[0,4.0]"), 4), "whole number"},
		{raw(one(`"F32"`, "[1]", "[0,5]"), 5), "needs 4 bytes"}, {raw(one(`"F32"`, "[1]", "[4,8]"), 8), "begins at byte 4"},
		{raw(one(`"F32"`, "[1]", "[0,4]"), 0), "ends at byte 4"}, {raw(one(`"F32"`, "[1]", "[0,4]"), 3), "ends at byte 4"},
		{raw(one(`"F32"`, "[1]", "[0,4]"), 5), "after the last tensor"}, {raw(`{}`, 1), "after the last tensor"},
		{raw(one(`"F32"`, "[1]", "[9223372036854775803,9223372036854775807]"), 4), "begins at byte"},
		{raw(one(`"F32"`, "[1]", "[0,18446744073709551615]"), 4), "whole number"},
		{raw(one(`"F32"`, "[1]", `["0","4"]`), 4), "number is expected"}, {raw(one(`"F32"`, "[1]", "null"), 4), "list is expected"},
		{raw(one(`"F32"`, "[1]", "4"), 4), "list is expected"}, {raw(one(`"F32"`, "[0]", "[4,4]"), 4), "begins at byte 4"},
	},
	"tiling": {
		{raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4), "begins at byte 0"},
		{raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}}`, 7), "begins at byte 3"},
		{raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}}`, 9), "begins at byte 5"},
		{raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8), "twice"},
		{raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"\u0061":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8), "twice"},
		{raw(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 7), "ends at byte 8"},
		{raw(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}`, 2), "begins at byte"},
	},
}

func TestMalformedSafetensorsAreNamedErrors(t *testing.T) {
	n := 0
	for group, list := range malformed {
		for i, c := range list {
			n++
			_, err := ReadSafetensors(bytes.NewReader(c.file), int64(len(c.file)))
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %d: error %v, want a FormatError with %q", group, i, err, c.want)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d files", n)
	}
}

// npyFile builds a .npy file of version 1.
func npyFile(header string, data int) []byte {
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func dict(descr, order, shape string) string {
	return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n"
}

func TestMalformedNPYAreNamedErrors(t *testing.T) {
	version := func(major byte) []byte {
		b := npyFile(dict("'<f4'", "False", "(1,)"), 4)
		b[6] = major
		return b
	}
	for i, c := range []struct {
		file []byte
		want string
	}{
		{nil, "too short"}, {[]byte(npyMagic), "too short"}, {[]byte("\x80\x04\x95PICKLE...."), "begin with"},
		{[]byte("PK\x03\x04npz file....."), "begin with"}, {version(0), "version 0"}, {version(4), "version 4"},
		{version(2), "at most"}, {append([]byte(npyMagic), 2, 0, 1, 0), "too short"},
		{append([]byte(npyMagic), 1, 0, 200, 0), "cut off"}, {append([]byte(npyMagic), 1, 0, 0xff, 0xff), "at most"},
		{npyFile("", 0), "expected"}, {npyFile("{}", 0), "needs"}, {npyFile("[]", 0), "expected"},
		{npyFile(dict("'<f4'", "False", "(1,)"), 3), "cut off"},
		{npyFile(dict("'<f4'", "False", "(1,)"), 5), "1 bytes follow"},
		{npyFile(dict("'<f4'", "1", "(1,)"), 4), "expected"},
		{npyFile(dict("'|O'", "False", "(1,)"), 8), "pickles"}, {npyFile(dict("'O'", "False", "(1,)"), 8), "pickles"},
		{npyFile(dict("'<c8'", "False", "(1,)"), 8), "is not read"},
		{npyFile(dict("'<U0'", "False", "(1,)"), 0), "is not read"}, {npyFile(dict("'<f16'", "False", "(1,)"), 16),
			"is not read"},
		{npyFile(dict("'<q4'", "False", "(1,)"), 4), "unknown type"},
		{npyFile(dict("'f4'", "False", "(1,)"), 4), "is not read"},
		{npyFile(dict("'<U5'", "False", "(1,)"), 19), "cut off"}, {npyFile(dict("'>f4'", "True", "(2, 2)"), 15), "cut off"},
		{npyFile(dict("[('a', '<f4')]", "False", "(1,)"), 4), "records"},
		{npyFile(dict("'<f4", "False", "(1,)"), 4), "unknown type"},
		{npyFile(dict("'<f4'", "False", "(-1,)"), 4), "whole number"}, {npyFile(dict("'<f4'", "False", "(1.0,)"), 4),
			"expected"},
		{npyFile(dict("'<f4'", "False", "(1 1)"), 4), "expected"}, {npyFile(dict("'<f4'", "False", "[1]"), 4), "expected"},
		{npyFile(dict("'<f4'", "False", "(1,"), 4), "expected"}, {npyFile(dict("'<f4'", "False", "(x,)"), 4), "whole number"},
		{npyFile(dict("'<f4'", "False", "(9223372036854775808,)"), 4), "whole number"},
		{npyFile(dict("'<f4'", "False", "(4294967296, 4294967296)"), 0), "do not make"},
		{npyFile(dict("'<f4'", "False", "("+strings.Repeat("1, ", 65)+")"), 4), "more than 64"},
		{npyFile(dict("'<f4'", "False", "()")+"x", 4), "after the dictionary"},
		{npyFile("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4), "twice"},
		{npyFile("{'descr': '<f4', 'fortran_order': False}", 4), "needs"},
		{npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", 4), "unknown key"},
		{npyFile("{'descr': __import__('os'), 'fortran_order': False, 'shape': ()}", 4), "string expected"},
		{npyFile("{'descr': '<f4' 'fortran_order': False, 'shape': ()}", 4), "expected"},
	} {
		_, err := readNPY(source{at: bytes.NewReader(c.file), size: int64(len(c.file))})
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: error %v, want a FormatError with %q", i, err, c.want)
		}
	}
}

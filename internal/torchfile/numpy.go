package torchfile

import (
	"hgld/internal/tensorfile"
)

// The functions and classes of NumPy's arrays, and of the bytes in a pickle of protocol 2. NumPy 2
// renamed its package core.
const (
	numpyType     global = "numpy.dtype"
	numpyArray    global = "numpy.ndarray"
	numpyRebuild  global = "numpy.core.multiarray._reconstruct"
	numpyRebuild2 global = "numpy._core.multiarray._reconstruct"
	numpyScalar   global = "numpy.core.multiarray.scalar"
	numpyScalar2  global = "numpy._core.multiarray.scalar"
	numpyBuffer   global = "numpy.core.numeric._frombuffer"
	numpyBuffer2  global = "numpy._core.numeric._frombuffer"
	codecsEncode  global = "_codecs.encode"
	builtinBytes  global = "builtins.bytes"
	oldBytes      global = "__builtin__.bytes"
)

// description is a NumPy type: "f4" and its order of bytes, "<", ">" or "|".
type description struct{ kind, order string }

// blank is an array whose elements follow. It remembers its places in the memo.
type blank struct{ memo []int }

// array is a whole NumPy array.
type array struct{ tensorfile.Tensor }

// unread is a sound value of a kind that is not read, such as an array of records.
type unread struct{ reason string }

// callNumPy evaluates a call of one of NumPy's functions. known is false for other functions and for other
// arguments.
func callNumPy(g global, args tuple) (value any, known bool) {
	switch g {
	case numpyRebuild, numpyRebuild2: // (ndarray, shape, kind), which BUILD replaces
		return &blank{}, len(args) == 3 && args[0] == numpyArray
	case numpyType: // ("f4", align, copy)
		if len(args) == 3 {
			kind, is := args[0].(string)
			return &description{kind: kind}, is
		}
	case numpyScalar, numpyScalar2: // (description, bytes)
		if len(args) == 2 {
			return scalarOf(args[0], args[1])
		}
	case numpyBuffer, numpyBuffer2: // (bytes, description, shape, order)
		if len(args) == 4 {
			return arrayOf(args[2], args[1], args[3] == "F", args[0])
		}
	case codecsEncode: // (text, "latin1"): the characters are the bytes
		if len(args) == 2 && args[1] == "latin1" {
			text, is := args[0].(string)
			return latin1(text), is
		}
	case builtinBytes, oldBytes:
		return "", len(args) == 0
	}
	return nil, false
}

// latin1 returns the characters of a text as bytes.
func latin1(text string) string {
	data := make([]byte, 0, len(text))
	for _, r := range text {
		data = append(data, byte(r))
	}
	return string(data)
}

// describe sets the attributes of a type: (version, order, …).
func (d *description) describe(state any) bool {
	s, _ := state.(tuple)
	if len(s) < 2 {
		return false
	}
	order, is := s[1].(string)
	d.order = order
	return is
}

// become returns the array that (version, shape, description, columnMajor, elements) completes.
func (b *blank) become(state any) (value any, known bool) {
	s, _ := state.(tuple)
	if len(s) != 5 {
		return nil, false
	}
	columnMajor, is := s[3].(bool)
	if !is {
		return nil, false
	}
	return arrayOf(s[1], s[2], columnMajor, s[4])
}

// arrayOf returns an array. Those of texts become lists, as do the objects of a single dimension.
func arrayOf(shape, kind any, columnMajor bool, elements any) (value any, known bool) {
	dims, isShape := shape.(tuple)
	d, isType := kind.(*description)
	if !isShape || !isType {
		return nil, false
	}
	if list, objects := elements.(*list); objects {
		if len(dims) != 1 || dims[0] != int64(len(list.items)) {
			return unread{"an array of Python objects in several dimensions"}, true
		}
		return list, true
	}
	data, isBytes := elements.(string)
	sizes := make([]int, len(dims))
	for i, dim := range dims {
		n, is := dim.(int64)
		if !is || n < 0 || n > int64(len(data)) && len(data) > 0 {
			return nil, false
		}
		sizes[i] = int(n)
	}
	if !isBytes {
		return nil, false
	}
	t, err := tensorfile.NewArray(d.order+d.kind, columnMajor, sizes, []byte(data))
	if err != nil {
		return unread{err.Error()}, true
	}
	if texts, err := t.Texts(); err == nil && len(sizes) == 1 {
		l := &list{items: make([]any, len(texts))}
		for i, text := range texts {
			l.items[i] = text
		}
		return l, true
	}
	return &array{t}, true
}

// scalarOf returns a number or a text of NumPy as one of Python.
func scalarOf(kind, element any) (value any, known bool) {
	value, known = arrayOf(tuple{int64(1)}, kind, false, element)
	switch v := value.(type) {
	case *list:
		return v.items[0], known
	case *array:
		if i, err := v.Int64(); err == nil {
			if v.DType == "BOOL" {
				return i[0] != 0, true
			}
			return i[0], true
		}
		f, err := v.Float64()
		if err == nil {
			return f[0], true
		}
	}
	return value, known
}

package torchfile

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"

	"hgld/internal/budget"
)

// source holds the bytes of a pickle and the read position.
type source struct {
	data []byte
	at   int
}

func (s *source) take(n int) ([]byte, error) {
	if n < 0 || n > len(s.data)-s.at {
		return nil, damaged("the pickle ends in the middle of a value, at byte %d", len(s.data))
	}
	s.at += n
	return s.data[s.at-n : s.at], nil
}

func (s *source) uint(n int) (int, error) {
	b, err := s.take(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	v := binary.LittleEndian.Uint64(wide[:])
	if v > math.MaxInt32 {
		return 0, damaged("the pickle counts %d", v)
	}
	return int(v), nil
}

func (s *source) line() (string, error) {
	i := strings.IndexByte(string(s.data[s.at:min(len(s.data), s.at+4096)]), '\n')
	if i < 0 {
		return "", damaged("the pickle ends in the middle of a name, at byte %d", len(s.data))
	}
	b, err := s.take(i + 1)
	return strings.TrimSuffix(string(b), "\n"), err
}

// machine runs a pickle. It has a stack, and a memo of values that are used again.
type machine struct {
	*source
	stack []any
	memo  map[int]any
	kinds map[string]storageKind // of the storages that the pickle has named, by key
}

// unpickle runs one pickle. It returns its value and the kinds of its storages, and leaves the source
// after the pickle.
func unpickle(s *source) (any, map[string]storageKind, error) {
	m := &machine{source: s, memo: map[int]any{}, kinds: map[string]storageKind{}}
	for range budget.Items {
		b, err := m.take(1)
		if err != nil {
			return nil, nil, err
		}
		if b[0] == '.' {
			v, err := m.pop()
			return v, m.kinds, err
		}
		if err := m.step(b[0]); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, damaged("its pickle has more than %d steps; a dictionary of weights takes about 30 for each tensor",
		budget.Items)
}

func (m *machine) push(v any) error {
	m.stack = append(m.stack, v)
	return nil
}

func (m *machine) pop() (any, error) {
	if len(m.stack) == 0 {
		return nil, damaged("the pickle takes a value from an empty stack, at byte %d", m.at)
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

func (m *machine) popTuple(n int) (tuple, error) {
	t := make(tuple, n)
	for i := n - 1; i >= 0; i-- {
		var err error
		if t[i], err = m.pop(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// popToMark returns the values above the last mark.
func (m *machine) popToMark() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, is := m.stack[i].(mark); is {
			items := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return items, nil
		}
	}
	return nil, damaged("the pickle closes a group that it has not opened, at byte %d", m.at)
}

// step runs one opcode. The names are those of Python's pickletools.
func (m *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := m.take(1)
		return err
	case 0x95: // FRAME
		_, err := m.take(8)
		return err
	case 'N':
		return m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(op == 0x88)
	case '(':
		return m.push(mark{})
	case '}':
		return m.push(&dict{})
	case ']':
		return m.push(&list{})
	case ')':
		return m.push(tuple{})
	case 'J', 'K', 'M', 0x8a, 0x8b, 'G', 'I', 'L':
		return m.number(op)
	case 'X', 0x8c, 'U', 'T', 0x8d, 'C', 'B', 0x8e, 0x96:
		return m.text(op)
	case 't', 0x85, 0x86, 0x87:
		return m.tuple(op)
	case 'q', 'r', 0x94, 'h', 'j':
		return m.remember(op)
	case 's', 'u', 'a', 'e':
		return m.fill(op)
	case 'c', 0x93:
		return m.global(op)
	case 'Q':
		return m.persistent()
	case 'R':
		return m.call()
	case 'b':
		return m.build()
	}
	return &FormatError{Reason: damaged("opcode %#02x at byte %d has no place in a file of tensors", op,
		m.at-1).(*FormatError).Reason, Refused: "opcode"}
}

// number pushes an integer or a float.
func (m *machine) number(op byte) error {
	switch op {
	case 'G': // BINFLOAT
		b, err := m.take(8)
		if err != nil {
			return err
		}
		return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case 'J': // BININT
		b, err := m.take(4)
		if err != nil {
			return err
		}
		return m.push(int64(int32(binary.LittleEndian.Uint32(b))))
	case 'K', 'M': // BININT1, BININT2
		n, err := m.uint(map[byte]int{'K': 1, 'M': 2}[op])
		if err != nil {
			return err
		}
		return m.push(int64(n))
	case 'I', 'L': // INT, LONG of protocol 0
		return damaged("the pickle is of protocol 0, expected 2 or later")
	}
	size, err := m.uint(map[byte]int{0x8a: 1, 0x8b: 4}[op]) // LONG1, LONG4
	if err != nil {
		return err
	}
	if size > mostLong {
		return damaged("the pickle has a number of %d bytes, expected at most %d", size, mostLong)
	}
	b, err := m.take(size)
	if err != nil {
		return err
	}
	return m.push(long(b))
}

// long decodes a little-endian two's complement number. A number beyond 64 bits, such as the magic
// number of the old format, is returned as decimal text.
func long(b []byte) any {
	big8 := make([]byte, len(b))
	for i, v := range b {
		big8[len(b)-1-i] = v
	}
	n := new(big.Int).SetBytes(big8)
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if n.IsInt64() {
		return n.Int64()
	}
	return n.String()
}

// text pushes a text or bytes.
func (m *machine) text(op byte) error {
	width := map[byte]int{'X': 4, 0x8c: 1, 'U': 1, 'T': 4, 0x8d: 8, 'C': 1, 'B': 4, 0x8e: 8, 0x96: 8}[op]
	n, err := m.uint(width)
	if err != nil {
		return err
	}
	b, err := m.take(n)
	if err != nil {
		return err
	}
	return m.push(string(b))
}

func (m *machine) tuple(op byte) error {
	if op == 't' {
		items, err := m.popToMark()
		if err != nil {
			return err
		}
		return m.push(tuple(items))
	}
	t, err := m.popTuple(int(op-0x85) + 1) // TUPLE1, TUPLE2, TUPLE3
	if err != nil {
		return err
	}
	return m.push(t)
}

// remember stores the top of the stack in the memo, or pushes a value from the memo.
func (m *machine) remember(op byte) error {
	at := len(m.memo) // MEMOIZE
	if op != 0x94 {
		var err error
		if at, err = m.uint(map[byte]int{'q': 1, 'h': 1, 'r': 4, 'j': 4}[op]); err != nil {
			return err
		}
	}
	if op == 'h' || op == 'j' { // BINGET, LONG_BINGET
		v, found := m.memo[at]
		if !found {
			return damaged("the pickle uses value %d, which it has not stored", at)
		}
		return m.push(v)
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	m.memo[at] = v
	if b, is := v.(*blank); is {
		b.memo = append(b.memo, at)
	}
	return m.push(v)
}

// fill puts values into the dictionary or list below them on the stack.
func (m *machine) fill(op byte) error {
	var items []any
	var err error
	switch op {
	case 's': // SETITEM
		items, err = m.popTuple(2)
	case 'a': // APPEND
		items, err = m.popTuple(1)
	default: // SETITEMS, APPENDS
		items, err = m.popToMark()
	}
	if err != nil {
		return err
	}
	top, err := m.pop()
	if err != nil {
		return err
	}
	switch into := top.(type) {
	case *dict:
		if op != 's' && op != 'u' || len(items)%2 != 0 {
			return damaged("the pickle puts %d values into a dictionary", len(items))
		}
		for i := 0; i < len(items); i += 2 {
			into.set(items[i], items[i+1])
		}
	case *list:
		if op != 'a' && op != 'e' {
			return damaged("the pickle puts pairs into a list")
		}
		into.items = append(into.items, items...)
	default:
		return damaged("the pickle puts values into %s", kindOf(top))
	}
	return m.push(top)
}

// global pushes the name of a function or class, if it is one of those that tensors need.
func (m *machine) global(op byte) error {
	var module, name string
	if op == 'c' { // GLOBAL
		var err error
		if module, err = m.line(); err != nil {
			return err
		}
		if name, err = m.line(); err != nil {
			return err
		}
	} else { // STACK_GLOBAL
		pair, err := m.popTuple(2)
		if err != nil {
			return err
		}
		module, _ = pair[0].(string)
		name, _ = pair[1].(string)
	}
	g := global(module + "." + name)
	if !knownGlobal(g) {
		return &FormatError{Reason: "it asks Python for " + quoted(string(g)) + ", but hgld reads only tensors in " +
			"dictionaries",
			Refused: string(g)}
	}
	return m.push(g)
}

// persistent replaces a persistent id by its storage: ("storage", kind, key, device, count). The
// old format has a sixth element, for a view of another storage.
func (m *machine) persistent() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	id, _ := v.(tuple)
	if len(id) == 6 && id[5] == nil {
		id = id[:5]
	}
	if len(id) != 5 || id[0] != "storage" {
		return damaged("the pickle refers to %s, expected a storage", kindOf(v))
	}
	g, _ := id[1].(global)
	kind, known := storageKinds[g]
	key, isText := id[2].(string)
	count, isNumber := id[4].(int64)
	if !known || !isText || !isNumber || count < 0 || count > math.MaxInt64/8 {
		return damaged("the pickle describes a storage by %s, %s and %s", kindOf(id[1]), kindOf(id[2]), kindOf(id[4]))
	}
	m.kinds[key] = kind
	return m.push(&storage{key, kind, count})
}

// call evaluates the call of one of the known functions.
func (m *machine) call() error {
	pair, err := m.popTuple(2)
	if err != nil {
		return err
	}
	g, isGlobal := pair[0].(global)
	args, isTuple := pair[1].(tuple)
	if !isGlobal || !isTuple {
		return damaged("the pickle calls %s", kindOf(pair[0]))
	}
	switch g {
	case orderedDict:
		if len(args) == 0 {
			return m.push(&dict{})
		}
	case rebuildParameter: // (tensor, requires_grad, hooks)
		if len(args) == 3 {
			if t, is := args[0].(*tensor); is {
				return m.push(t)
			}
		}
	case torchSize:
		if len(args) == 1 {
			if size, is := args[0].(tuple); is {
				return m.push(size)
			}
		}
	case rebuildTensor:
		t, err := tensorOf(args)
		if err != nil {
			return err
		}
		return m.push(t)
	}
	if value, known := callNumPy(g, args); known {
		return m.push(value)
	}
	return damaged("the pickle calls %s with %d values", g, len(args))
}

// tensorOf reads (storage, offset, size, stride, requires_grad, hooks), or these and a dictionary. The
// dictionary says how the elements differ from those of the storage. Code on a tensor's imaginary part
// after conj() leaves such a one: it is "neg", and its storage holds the opposite numbers.
func tensorOf(args tuple) (*tensor, error) {
	if len(args) < 6 {
		return nil, damaged("a tensor is described by %d values, expected 6", len(args))
	}
	if len(args) > 6 {
		if facts, is := args[6].(*dict); is && (facts.get("neg") == true || facts.get("conj") == true) {
			return nil, damaged("a tensor is a view that negates its storage, expected its own numbers: " +
				"save x.resolve_conj().resolve_neg()")
		}
	}
	s, isStorage := args[0].(*storage)
	offset, isNumber := args[1].(int64)
	size, isSize := args[2].(tuple)
	stride, isStride := args[3].(tuple)
	if !isStorage || !isNumber || !isSize || !isStride {
		return nil, damaged("a tensor is described by %s, %s, %s and %s", kindOf(args[0]), kindOf(args[1]), kindOf(args[2]),
			kindOf(args[3]))
	}
	if len(size) > mostRank || len(size) != len(stride) {
		return nil, damaged("a tensor has %d dimensions and %d strides", len(size), len(stride))
	}
	t := &tensor{storage: s, offset: offset}
	for _, v := range size {
		n, is := v.(int64)
		if !is || n > math.MaxInt32 {
			return nil, damaged("a tensor has a dimension of %s", kindOf(v))
		}
		t.shape = append(t.shape, int(n))
	}
	for _, v := range stride {
		n, is := v.(int64)
		if !is {
			return nil, damaged("a tensor has a stride of %s", kindOf(v))
		}
		t.stride = append(t.stride, n)
	}
	return t, t.check()
}

// build sets the attributes of an object. It ignores those of dictionaries: in weights they are the
// versions of the layers (_metadata), which are not needed.
func (m *machine) build() error {
	pair, err := m.popTuple(2)
	if err != nil {
		return err
	}
	switch object := pair[0].(type) {
	case *dict:
		return m.push(object)
	case *description:
		if object.describe(pair[1]) {
			return m.push(object)
		}
	case *blank:
		value, known := object.become(pair[1])
		if !known {
			return damaged("the pickle describes an array by %s", kindOf(pair[1]))
		}
		for _, at := range object.memo {
			m.memo[at] = value
		}
		return m.push(value)
	}
	return damaged("the pickle sets attributes of %s", kindOf(pair[0]))
}

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/tensorfile"
)

// malformed is an input that an evaluation must refuse, and what it must say of it.
type malformed struct {
	name string // of the file that is written, "" for none
	data []byte // its content
	args string // of hgld eval; FILE stands for the file
	want string // part of the error
}

// failing are errors of code 1: values and versions that cannot be used, and files that are not
// there. damaged are files that are not what their name says, of code 4. All others are in how
// files and settings fit together, of code 2; unread are sound files of another kind.
var (
	unread = []string{"records are not", "Python", "is not read", "its shape is", "the shape of", "bytes follow",
		"no tensors", "float tensors"}
	failing = []string{"not finite", "format version", "does not exist", "no such file"}
	damaged = []string{"entries for", "json:", "JSON", "was changed"}
)

// code is the exit code that the input must have.
func (m *malformed) code() int {
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(part string) bool { return strings.Contains(m.want, part) })
	}
	vectors := strings.HasPrefix(m.args, "run --embeddings FILE") && m.want != "has no vectors" &&
		!strings.Contains(m.want, "rows of labels")
	switch {
	case strings.Contains(m.args, "--images"):
		return exitUsage
	case has(failing):
		return exitFailed
	case has(unread):
		return exitUsage
	case strings.HasSuffix(m.name, ".result.json") && has(damaged), vectors && m.name != "" && !m.readForLabels():
		return exitIntegrity
	}
	return exitUsage
}

// readForLabels reports that a Parquet file fails as the labels, before its vectors are read.
func (m *malformed) readForLabels() bool {
	return strings.HasSuffix(m.name, ".parquet") && !slices.ContainsFunc([]string{"ragged", "novector", "two", "none"},
		func(name string) bool { return strings.HasPrefix(m.name, name+".") })
}

// The sound files beside the malformed one: six vectors of four numbers.
const (
	soundLabels = "id,fine,coarse\na,f1,c1\nb,f1,c1\nc,f2,c1\nd,f2,c1\ne,f3,c2\nf,f3,c2\n"
	soundRun    = "a Q0 b 1 0.9 x\na Q0 c 2 0.8 x\nb Q0 a 1 0.7 x\n"
	soundQrels  = "a 0 b 1\nb 0 a 1\n"
)

func soundVectors() []float32 {
	return []float32{1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1}
}

// npyOf is an .npy of version 1 with this dictionary.
func npyOf(dictionary string, data []byte) []byte {
	head := dictionary + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(out, head...), data...)
}

func dict(descr, order, shape string) string {
	return fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
}

func floatBytes(values ...float32) (out []byte) {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

func int64Bytes(values ...int64) (out []byte) {
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out
}

// tensorsOf is a .safetensors with this header.
func tensorsOf(header string, data []byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

// changed returns the sound vectors with another value in one place.
func changedVectors(at int, v float32) []byte {
	values := soundVectors()
	values[at] = v
	return npyOf(dict("'<f4'", "False", "(6, 4)"), floatBytes(values...))
}

// malformedVectors are files of vectors.
func malformedVectors() (list []malformed) {
	sound := floatBytes(soundVectors()...)
	add := func(name, want string, data []byte) {
		list = append(list, malformed{name, data, "run --embeddings FILE --labels l.csv", want})
	}
	whole := npyOf(dict("'<f4'", "False", "(6, 4)"), sound)
	const short, cutOff = "too short for a header", "cut off?"
	for cut, want := range map[int]string{0: short, 1: short, 5: short, 7: short, 9: short, 20: cutOff, 60: cutOff,
		len(whole) - 96: "0 bytes of elements", len(whole) - 1: "95 bytes of elements"} {
		add(fmt.Sprintf("cut%d.npy", cut), want, whole[:cut])
	}
	for name, c := range map[string]struct{ want, dictionary string }{
		"object":   {"header: type \"|O\": Python", dict("'|O'", "False", "(6, 4)")},
		"complex":  {"header: type \"<c8\" is not read", dict("'<c8'", "False", "(3, 4)")},
		"texts":    {"its shape is TEXT[6], want rows", dict("'<U4'", "False", "(6,)")},
		"dates":    {"header: type \"<M8[s]\" is not read", dict("'<M8[s]'", "False", "(6, 2)")},
		"fields":   {"header: records are not", dict("[('x', '<f4')]", "False", "(6, 4)")},
		"negative": {"header: shape: a whole number", dict("'<f4'", "False", "(-6, 4)")},
		"flat":     {"its shape is F32[24], want rows and", dict("'<f4'", "False", "(24,)")},
		"scalar":   {"92 bytes follow the array", dict("'<f4'", "False", "()")},
		"cube":     {"its shape is F32[6 2 2], want rows", dict("'<f4'", "False", "(6, 2, 2)")},
		"norows":   {"96 bytes follow the array", dict("'<f4'", "False", "(0, 4)")},
		"nocols":   {"96 bytes follow the array", dict("'<f4'", "False", "(6, 0)")},
		"huge":     {"96 bytes of elements do not make", dict("'<f4'", "False", "(9223372036854775807, 4)")},
		"overflow": {"header: shape: a whole number", dict("'<f4'", "False", "(99999999999999999999, 4)")},
		"long":     {"96 bytes of elements do not make", dict("'<f4'", "False", "(7, 4)")},
		"short":    {"16 bytes follow the array", dict("'<f4'", "False", "(5, 4)")},
		"floatdim": {"header: \")\" expected before", dict("'<f4'", "False", "(6.0, 4)")},
		"textdim":  {"header: shape: a whole number", dict("'<f4'", "False", "('6', 4)")},
		"listdim":  {"header: \"(\" expected before", dict("'<f4'", "False", "[6, 4]")},
		"nodescr":  {"header: needs descr,", "{'fortran_order': False, 'shape': (6, 4), }"},
		"noshape":  {"header: needs descr,", "{'descr': '<f4', 'fortran_order': False, }"},
		"noorder":  {"header: needs descr,", "{'descr': '<f4', 'shape': (6, 4), }"},
		"twice": {"header: \"descr\" is there twice",
			"{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (6, 4), }"},
		"unknown": {"header: unknown key \"more\"",
			"{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4), 'more': 1}"},
		"unclosed":  {"header: \")\" expected before \"\"", "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 4"},
		"quote":     {"header: a string without end", "{'descr': '<f4"},
		"json":      {"header: \"False\" expected before", `{"descr": "<f4", "fortran_order": false, "shape": [6, 4]}`},
		"order":     {"header: \"False\" expected before", dict("'<f4'", "0", "(6, 4)")},
		"behind":    {"header: there are 9 bytes after the", dict("'<f4'", "False", "(6, 4)") + " and more"},
		"emptydict": {"header: needs descr,", "{}"},
		"nodict":    {"header: \"{\" expected before \"\"", ""},
		"list":      {"header: \"{\" expected before", "['<f4', False, (6, 4)]"},
	} {
		add(name+".npy", c.want, npyOf(c.dictionary, sound))
	}
	version := bytes.Clone(whole)
	version[6] = 9
	for name, c := range map[string]struct {
		want string
		data []byte
	}{
		"version":   {"version 9.0 (known: 1.0, 2.0, 3.0)", version},
		"magic":     {"does not begin with \\x93NUMPY", append([]byte("\x93NUMPX"), whole[6:]...)},
		"csvinside": {"does not begin with \\x93NUMPY", []byte(soundLabels)},
		"npz":       {"does not begin with \\x93NUMPY", []byte("PK\x03\x04and more of a zip")},
		"pickle":    {"7 bytes, too short for a header", []byte("\x80\x04\x95\x00\x00\x00\x00")},
		"gzip":      {"8 bytes, too short for a header", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00")},
		"hdf5":      {"8 bytes, too short for a header", []byte("\x89HDF\r\n\x1a\n")},
		"headerlen": {"a header of 65535 bytes (at most", []byte("\x93NUMPY\x01\x00\xff\xff{'descr'")},
		"header2":   {"a header of 4294967295 bytes (at", []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'")},
		"nan":       {"not finite", changedVectors(5, float32(math.NaN()))},
		"inf":       {"not finite", changedVectors(10, float32(math.Inf(1)))},
		"minusinf":  {"not finite", changedVectors(23, float32(math.Inf(-1)))},
		"behind":    {"1 bytes follow the array", append(bytes.Clone(whole), 0)},
	} {
		add(name+".values.npy", c.want, c.data)
	}
	return append(list, malformedTensors(sound)...)
}

// malformedTensors are .safetensors.
func malformedTensors(sound []byte) (list []malformed) {
	entry := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"embeddings":{"dtype":%s,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	whole := tensorsOf(entry(`"F32"`, "[6,4]", "[0,96]"), sound)
	for name, c := range map[string]struct {
		want string
		data []byte
	}{
		"empty":      {"0 bytes, too short for the length", nil},
		"four":       {"4 bytes, too short for the length", []byte{1, 0, 0, 0}},
		"nothing":    {"header: does not begin with {", make([]byte, 8)},
		"headerlen":  {"a header of 4611686018427387904", binary.LittleEndian.AppendUint64(nil, 1<<62)},
		"headerlong": {"a header of 50 bytes", binary.LittleEndian.AppendUint64(nil, 50)},
		"cut":        {"tensor \"embeddings\": ends at", whole[:len(whole)-1]},
		"more":       {"there are 1 bytes after the last tensor", append(bytes.Clone(whole), 0)},
		"text":       {"header: does not begin with {", tensorsOf("hello", nil)},
		"array":      {"header: does not begin with {", tensorsOf("[1]", nil)},
		"null":       {"header: does not begin with {", tensorsOf("null", nil)},
		"none":       {"it has no tensors", tensorsOf("{}", nil)},
		"unclosed":   {"header: EOF", tensorsOf(`{"embeddings":{`, nil)},
		"nodtype": {"tensor \"embeddings\": needs",
			tensorsOf(`{"embeddings":{"shape":[6,4],"data_offsets":[0,96]}}`, sound)},
		"noshape": {"tensor \"embeddings\": needs",
			tensorsOf(`{"embeddings":{"dtype":"F32","data_offsets":[0,96]}}`, sound)},
		"nooffsets": {"tensor \"embeddings\": needs", tensorsOf(`{"embeddings":{"dtype":"F32","shape":[6,4]}}`, sound)},
		"dtype":     {"tensor \"embeddings\": unknown", tensorsOf(entry(`"Q8"`, "[6,4]", "[0,96]"), sound)},
		"dtypenum":  {"tensor \"embeddings\": unknown", tensorsOf(entry(`32`, "[6,4]", "[0,96]"), sound)},
		"negative":  {"tensor \"embeddings\": shape: -6", tensorsOf(entry(`"F32"`, "[-6,4]", "[0,96]"), sound)},
		"fraction":  {"tensor \"embeddings\": shape: 6.5", tensorsOf(entry(`"F32"`, "[6.5,4]", "[0,96]"), sound)},
		"overflow":  {"tensor \"embeddings\":", tensorsOf(entry(`"F32"`, "[4611686018427387904,8]", "[0,96]"), sound)},
		"shape":     {"tensor \"embeddings\": F32[6 5]", tensorsOf(entry(`"F32"`, "[6,5]", "[0,96]"), sound)},
		"reversed":  {"tensor \"embeddings\": F32[6 4]", tensorsOf(entry(`"F32"`, "[6,4]", "[96,0]"), sound)},
		"outside":   {"tensor \"embeddings\": begins at", tensorsOf(entry(`"F32"`, "[6,4]", "[96,192]"), sound)},
		"hole":      {"tensor \"embeddings\": begins at", tensorsOf(entry(`"F32"`, "[5,4]", "[16,96]"), sound)},
		"three":     {"tensor \"embeddings\":", tensorsOf(entry(`"F32"`, "[6,4]", "[0,96,96]"), sound)},
		"flat":      {"the shape of \"embeddings\" is", tensorsOf(entry(`"F32"`, "[24]", "[0,96]"), sound)},
		"norows":    {"has no vectors", tensorsOf(entry(`"F32"`, "[0,4]", "[0,0]"), nil)},
		"rows":      {"rows of labels", tensorsOf(entry(`"F32"`, "[4,6]", "[0,96]"), sound)},
		"two": {"it has 2 float tensors with rows and columns, x, y", tensorsOf(`{"x":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]},`+
			`"y":{"dtype":"F32","shape":[3,4],"data_offsets":[48,96]}}`, sound)},
		"overlap": {"tensor \"y\": begins at byte 48", tensorsOf(`{"x":{"dtype":"F32","shape":[6,4],"data_offsets":[0,96]},`+
			`"y":{"dtype":"F32","shape":[3,4],"data_offsets":[48,96]}}`, sound)},
		"twice": {"header: tensor \"x\" occurs", tensorsOf(`{"x":{"dtype":"F32","shape":[6,4],"data_offsets":[0,96]},`+
			`"x":{"dtype":"F32","shape":[6,4],"data_offsets":[0,96]}}`, sound)},
		"metadata": {"header: metadata \"a\" is not a",
			tensorsOf(`{"__metadata__":{"a":1},"x":{"dtype":"F32","shape":[6,4],"data_offsets":[0,96]}}`,
				sound)},
		"nan": {"not finite", tensorsOf(entry(`"F16"`, "[6,4]", "[0,48]"), bytes.Repeat([]byte{0, 0x7e}, 24))},
	} {
		list = append(list, malformed{name + ".safetensors", c.data, "run --embeddings FILE --labels l.csv", c.want})
	}
	return list
}

// malformedTables are Parquet files of vectors.
func malformedTables(t *testing.T) (list []malformed) {
	t.Helper()
	type row struct {
		ID     string    `parquet:"id"`
		Fine   string    `parquet:"label_0"`
		Coarse string    `parquet:"label_1"`
		Vector []float32 `parquet:"vector,list"`
	}
	type two struct {
		Fine string    `parquet:"label_0"`
		A    []float32 `parquet:"a,list"`
		B    []float32 `parquet:"b,list"`
	}
	type none struct {
		Fine string `parquet:"label_0"`
		X    string `parquet:"x"`
	}
	type bare struct {
		Vector []float32 `parquet:"vector,list"`
	}
	add := func(name, want string, data []byte) {
		list = append(list, malformed{name + ".parquet", data, "run --embeddings FILE", want})
	}
	rows := func(change func(list []row)) []byte {
		all := []row{{"a", "f1", "c1", []float32{1, 2}}, {"b", "f1", "c1", []float32{2, 1}},
			{"c", "f2", "c1", []float32{3, 1}}}
		change(all)
		return parquetOf(t, all)
	}
	whole := rows(func([]row) {})
	for _, n := range []int{0, 3, 4, 8, 11, 12, 50, len(whole) / 2, len(whole) - 9, len(whole) - 5, len(whole) - 1} {
		add(fmt.Sprintf("cut%d", n), "not a Parquet file", whole[:n])
	}
	footer := bytes.Clone(whole)
	binary.LittleEndian.PutUint32(footer[len(footer)-8:], 1<<31)
	add("footer", "its footer declares 2147483648", footer)
	add("ragged", "vector: row 1 has 1 numbers, want", rows(func(l []row) { l[1].Vector = []float32{1} }))
	add("novector", "vector: row 2 has no vector", rows(func(l []row) { l[2].Vector = nil }))
	add("nan", "not finite", rows(func(l []row) { l[1].Vector[0] = float32(math.NaN()) }))
	add("parents", "label_0 \"f1\" has two parents:", rows(func(l []row) { l[1].Coarse = "c2" }))
	add("norows", "has no vectors", parquetOf(t, []row{}))
	add("two", "columns a and b both match", parquetOf(t, []two{{"f", []float32{1}, []float32{2}}}))
	add("none", "no column is a list of floats;", parquetOf(t, []none{{"f", "x"}}))
	add("bare", "no column label_0 or level_0", parquetOf(t, []bare{{[]float32{1, 2}}, {[]float32{2, 1}}}))
	add("csvinside", "not a Parquet file: it ends with", []byte(soundLabels))
	return list
}

func parquetOf[T any](t *testing.T, rows []T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := parquet.Write(&out, rows); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every malformed input is refused with its own error and an exit code, writes no result, and
// never ends the program by a panic.
func TestMalformedInputToEvaluation(t *testing.T) {
	t.Chdir(t.TempDir())
	writeNPY(t, "e.npy", tensorfile.NewF32("", []int{6, 4}, soundVectors()))
	for name, text := range map[string]string{"l.csv": soundLabels, "x.run": soundRun, "x.qrels": soundQrels} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, strings.Fields("eval run --embeddings e.npy --labels l.csv --per-query --out sound.json")...)
	all := append(append(append(malformedVectors(), malformedTables(t)...), malformedLabels()...), malformedTruth()...)
	all = append(append(all, malformedResults(t)...), malformedSettings()...)
	if len(all) < 200 {
		t.Errorf("%d inputs, want 200", len(all))
	}
	said := map[string]string{}
	for _, m := range all {
		if m.name != "" {
			if err := os.WriteFile(m.name, m.data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		args := append([]string{"eval"}, strings.Fields(strings.ReplaceAll(m.args, "FILE", m.name))...)
		if args[1] == "run" {
			args = append(args, "--intervals=false", "--out", "none.json")
		}
		code, out, errs := run(t, args...)
		about := strings.Join(args[1:], " ")
		switch {
		case code == exitOK:
			t.Errorf("%s is accepted\n%s", about, out)
		case code != m.code():
			t.Errorf("%s: exit code %d, want %d\n%s", about, code, m.code(), errs)
		case !strings.Contains(errs, m.want), !strings.Contains(errs, strings.TrimSuffix(m.name, ".json")):
			t.Errorf("%s: want %q and the file's name\n%s", about, m.want, errs)
		case strings.Contains(errs, "runtime error"), strings.Contains(errs, "goroutine"):
			t.Errorf("%s: %s", about, errs)
		case said[errs] != "":
			t.Errorf("%s and %s have the same error\n%s", about, said[errs], errs)
		}
		said[errs] = about
		if _, err := os.Stat("none.json"); err == nil {
			t.Errorf("%s: a result was written", about)
			os.Remove("none.json")
		}
	}
}

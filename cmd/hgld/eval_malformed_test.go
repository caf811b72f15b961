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
	"hgld/internal/testing/must"
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
		"no tensors", "float tensor"}
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
	case m.name == "cut.labels.npy", strings.HasSuffix(m.name, ".result.json") && has(damaged),
		vectors && m.name != "" && !m.readForLabels():
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

// malformedVectors are files of vectors, one of each kind of fault; package tensorfile tests each fault of a header.
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
		"object": {"header: type \"|O\": Python", dict("'|O'", "False", "(6, 4)")},
		"texts":  {"its shape is TEXT[6], want rows", dict("'<U4'", "False", "(6,)")},
		"fields": {"header: records are not", dict("[('x', '<f4')]", "False", "(6, 4)")},
		"flat":   {"its shape is F32[24], want rows and", dict("'<f4'", "False", "(24,)")},
		"scalar": {"92 bytes follow the array", dict("'<f4'", "False", "()")},
		"cube":   {"its shape is F32[6 2 2], want rows", dict("'<f4'", "False", "(6, 2, 2)")},
		"long":   {"96 bytes of elements do not make", dict("'<f4'", "False", "(7, 4)")},
	} {
		add(name+".npy", c.want, npyOf(c.dictionary, sound))
	}
	for name, c := range map[string]struct {
		want string
		data []byte
	}{
		"csvinside": {"does not begin with \\x93NUMPY", []byte(soundLabels)},
		"nan":       {"not finite", changedVectors(5, float32(math.NaN()))},
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
		"empty":  {"0 bytes, too short for the length", nil},
		"cut":    {"tensor \"embeddings\": ends at", whole[:len(whole)-1]},
		"none":   {"it has no tensors", tensorsOf("{}", nil)},
		"flat":   {"the shape of \"embeddings\" is", tensorsOf(entry(`"F32"`, "[24]", "[0,96]"), sound)},
		"norows": {"has no vectors", tensorsOf(entry(`"F32"`, "[0,4]", "[0,0]"), nil)},
		"rows":   {"rows of labels", tensorsOf(entry(`"F32"`, "[4,6]", "[0,96]"), sound)},
		"two": {"it has 2 float tensors with rows and columns, x, y", tensorsOf(`{"x":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]},`+
			`"y":{"dtype":"F32","shape":[3,4],"data_offsets":[48,96]}}`, sound)},
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
	for _, n := range []int{0, 4, len(whole) / 2, len(whole) - 1} {
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
	must.Do(t, parquet.Write(&out, rows))
	return out.Bytes()
}

// Every malformed input is refused with its own error and an exit code, writes no result, and
// never ends the program by a panic.
func TestMalformedInputToEvaluation(t *testing.T) {
	t.Chdir(t.TempDir())
	writeNPY(t, "e.npy", tensorfile.NewF32("", []int{6, 4}, soundVectors()))
	for name, text := range map[string]string{"l.csv": soundLabels, "x.run": soundRun, "x.qrels": soundQrels} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	succeeds(t, strings.Fields("eval run --embeddings e.npy --labels l.csv --per-query --out sound.json")...)
	all := append(append(append(malformedVectors(), malformedTables(t)...), malformedLabels()...), malformedTruth()...)
	all = append(append(all, malformedResults(t)...), malformedSettings()...)
	said := map[string]string{}
	for _, m := range all {
		if m.name != "" {
			must.Do(t, os.WriteFile(m.name, m.data, 0o644))
		}
		args := append([]string{"eval"}, strings.Fields(strings.ReplaceAll(m.args, "FILE", m.name))...)
		if args[1] == "run" {
			args = append(args, "-o", "intervals=false", "--out", "none.json")
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

// A damaged file of arrays has the exit code of damage in every command, whether it is read as vectors or for its
// labels, with or without labels of its own.
func TestADamagedFileOfArraysHasOneExitCode(t *testing.T) {
	t.Chdir(t.TempDir())
	header := append(binary.LittleEndian.AppendUint64(nil, 20), `{"embeddings": {"dty`...)
	must.Do(t, os.WriteFile("bad.safetensors", header, 0o644))
	must.Do(t, os.WriteFile("bad.npz", []byte("PK\x03\x04, and then the disk was full"), 0o644))
	must.Do(t, os.WriteFile("l.csv", []byte(soundLabels), 0o644))
	for _, args := range []string{
		"eval run --embeddings FILE", "eval run --embeddings FILE --labels l.csv",
		"loss --loss nsm --embeddings FILE", "loss --loss nsm --embeddings FILE --labels l.csv",
		"search --index FILE --id a", "search --index FILE --labels l.csv --id a",
		"figure landscape --loss blackbox-ap --embeddings FILE --out f.svg",
		"figure landscape --loss blackbox-ap --embeddings FILE --labels l.csv --out f.svg",
		"train run --embeddings FILE --out r", "train run --embeddings FILE --labels l.csv --out r",
	} {
		for _, file := range []string{"bad.safetensors", "bad.npz"} {
			says(t, exitIntegrity, file, strings.Fields(strings.ReplaceAll(args, "FILE", file))...)
		}
	}
}

package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// What a hostile file may cost the command that reads it. An ordinary command takes 60 MB and 0.1 s.
const (
	hostileMemory = 512 << 20       // peak of the resident memory
	hostileTime   = 5 * time.Second // of the processor
)

// hostileFile is a file that is small for what it could cost, and a command that reads it.
type hostileFile struct {
	name, command string // FILE stands for the name
	content       func() []byte
}

// repeated returns a text with n parts.
func repeated(before, part string, n int, after string) func() []byte {
	return func() []byte { return []byte(before + strings.Repeat(part, n) + after) }
}

// counted returns a text with n parts, in which %d, or %[1]d, is the number of the part, and %[2]d that of the next.
func counted(before, part string, n int, after string) func() []byte {
	return func() []byte {
		text := bytes.NewBufferString(before)
		for i := range n {
			if strings.Contains(part, "%[2]d") {
				fmt.Fprintf(text, part, i, i+1)
			} else {
				fmt.Fprintf(text, part, i)
			}
		}
		return append(text.Bytes(), after...)
	}
}

const (
	checksFile   = "curate check FILE"
	readsTable   = "eval run --embeddings e.npy --labels FILE"
	readsVectors = "eval run --embeddings FILE --labels l.csv"
	readsQrels   = "eval run --embeddings e.npy --labels l.csv --qrels FILE"
	readsRanking = "eval run --ranking FILE --labels l.csv --metrics R@1"
	importsTags  = "scrape import --split train --replace FILE"

	aliases = "a%[2]d: &a%[2]d [*a%[1]d,*a%[1]d,*a%[1]d]\n" // three times what the line before stands for
)

// hostileFiles are the corpus: nesting, abbreviations, compression, lengths that lie, rows and lines without end.
var hostileFiles = []hostileFile{
	{"prefix.ttl", checksFile, repeated("@prefix a: <"+strings.Repeat("x", 1e6)+"> .\n<#a> <#b> a:y",
		",a:y", 20000, " .")},
	{"names.ttl", checksFile, counted("@prefix a: <"+strings.Repeat("x", 1e6)+"> .\n<#a> <#b> a:y",
		",a:y%d", 20000, " .")},
	{"base.ttl", checksFile, repeated("@base <http://x/"+strings.Repeat("x/", 1e5)+"> .\n<#a> <#b> <c>",
		",<c>", 20000, " .")},
	{"chain.ttl", checksFile, counted("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n",
		"<#c%[1]d> a skos:Concept ; skos:prefLabel \"c%[1]d\" ; skos:broader <#c%[2]d> .\n", 20000,
		"<#c20000> a skos:Concept ; skos:prefLabel \"top\" .\n")},
	{"brackets.ttl", checksFile, repeated("<#a> <#b> ", "(", 1e6, "")},
	{"members.ttl", checksFile, counted("@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"+
		"@prefix xkos: <http://rdf-vocabulary.ddialliance.org/xkos#> .\n<#s> a skos:ConceptScheme ; xkos:levels ( <#l> ) .\n"+
		"<#l> skos:prefLabel \"l\" ; skos:member <#m>", ",<#m%d>", 50000, " .")},
	{"nested.json", checksFile, repeated(`{"hgld_hierarchy":1,"levels":`, "[", 1e6, "")},
	{"draft.json", checksFile, repeated(`{"hgld_draft":1,"clusters":`, `{"a":`, 1e6, "")},
	{"edits.jsonl", "curate log FILE", repeated(`{"hgld_edits":1}`+"\n"+`{"a":"`, "a", 50e6, "\"}\n")},
	{"quotes.csv", readsTable, repeated("id,fine\n", `"`, 30e6, "")},
	{"columns.csv", readsTable, repeated("id", ",a", 1e6, "\n")},
	{"line.csv", readsTable, repeated("id,fine\na,", "b", 50e6, "\n")},
	{"rows.csv", importsTags, repeated("landmark_id,category,supercategory\n",
		"1,http://commons.wikimedia.org/wiki/Category:P,x\n", 5e5, "")},
	{"zeros.npy", readsVectors, func() []byte {
		return npyOf(dict("'<f4'", "False", "(1099511627776, 4)"), make([]byte, 16))
	}},
	{"header.safetensors", readsVectors, func() []byte { return append(binary.LittleEndian.AppendUint64(nil, 1e8), '{') }},
	{"entries.safetensors", readsVectors, func() []byte {
		return tensorsOf(string(counted("{\"a\":{\"dtype\":\"F32\",\"shape\":[0,1],\"data_offsets\":[0,0]}",
			`,"t%d":{"dtype":"F32","shape":[0,1],"data_offsets":[0,0]}`, 200000, "}")()), nil)
	}},
	{"bomb.npz", readsVectors, func() []byte {
		return zipped("embeddings.npy", npyOf(dict("'<f4'", "False", "(67108864, 8)"), nil), 2<<30)
	}},
	{"bomb.pt", readsVectors, func() []byte { return zipped("a/data.pkl", []byte("\x80\x02"), 2<<30) }},
	{"steps.pkl", readsQrels + " --gallery-embeddings e.npy", repeated("\x80\x02", "]", 30e6, ".")},
	{"cars_annos.mat", "shards build --dataset cars196 --input .", func() []byte { return matrixBomb(2 << 30) }},
	{"nested.qrels.json", readsQrels, repeated(`{"a":{"positives":`, "[", 1e6, "")},
	{"line.qrels", readsQrels, repeated("a 0 ", "b", 50e6, " 1\n")},
	{"rows.qrels", readsQrels, repeated("", "a 0 b 1\n", 1e6, "")},
	{"line.run", readsRanking, repeated("a Q0 ", "b", 50e6, " 1 0.5 x\n")},
	{"places.npy", readsRanking, func() []byte {
		return npyOf(dict("'<i8'", "False", "(6, 1099511627776)"), make([]byte, 16))
	}},
	{"footer.parquet", "eval run --embeddings FILE", func() []byte {
		return append(append([]byte("PAR1"), make([]byte, 64)...), "\xff\xff\xff\x7fPAR1"...)
	}},
	{"hgld.yaml", "config check", repeated("cluster: ", "[", 1e6, "")},
	{"hgld.yaml", "config check", counted("hgld: 1\na0: &a0 [x]\n", aliases, 30, "")},
	{"study.yaml", "study list FILE", counted("hgld_study: 1\na0: &a0 [x]\n", aliases, 30, "")},
}

// zipped returns an archive of a member that begins with head, and goes on with zeros.
func zipped(name string, head []byte, zeros int64) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write(head)
	}
	for block := make([]byte, 1<<20); err == nil && zeros > 0; zeros -= 1 << 20 {
		_, err = w.Write(block)
	}
	if err != nil || z.Close() != nil {
		panic(err)
	}
	return out.Bytes()
}

// matrixBomb returns a MATLAB file with a compressed variable of zeros.
func matrixBomb(zeros int) []byte {
	var packed bytes.Buffer
	z, _ := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	z.Write(binary.LittleEndian.AppendUint32([]byte{14, 0, 0, 0}, uint32(zeros)))
	for block := make([]byte, 1<<20); zeros > 0; zeros -= 1 << 20 {
		z.Write(block)
	}
	z.Close()
	head := append(bytes.Repeat([]byte(" "), 124), 0, 1, 'I', 'M')
	head = append(head, 15, 0, 0, 0)
	return append(binary.LittleEndian.AppendUint32(head, uint32(packed.Len())), packed.Bytes()...)
}

// runMeasured runs a command and returns the peak of its resident memory in bytes. It asks again and again, since the
// Maxrss of a process begins with that of the process that started it.
func runMeasured(t *testing.T, cmd *exec.Cmd) (peak int64, err error) {
	must.Do(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case err := <-ended:
			tick.Stop()
			return peak, err
		case <-tick.C:
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if _, after, found := strings.Cut(string(status), "VmHWM:"); found {
				kB, _ := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
				peak = max(peak, kB<<10)
			}
		}
	}
}

// A small file of somebody else is read or refused at a small price. Without the exhaustive suite, a sixth is tried,
// and the time is not judged.
func TestHostileFilesCostLittle(t *testing.T) {
	for i, h := range hostileFiles {
		if !effort.Exhaustive() && i%6 != 0 {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			testfile.Write(t, ".", projectFile, "hgld: 1\n")
			testfile.Write(t, ".", "l.csv", soundLabels)
			writeNPY(t, "e.npy", tensorfile.NewF32("", []int{6, 4}, soundVectors()))
			must.Do(t, os.WriteFile(h.name, h.content(), 0o644))
			cmd, out := hgldIn(t, dir, strings.Fields(strings.ReplaceAll(h.command, "FILE", h.name))...)
			peak, err := runMeasured(t, cmd)
			code, took := cmd.ProcessState.ExitCode(), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
			t.Logf("exit code %d, %d MB, %v: %.300s", code, peak>>20, took, out)
			if code < 0 || code == exitDefect || bytes.Contains(out.Bytes(), []byte("fatal error")) {
				t.Errorf("exit code %d, %v", code, err)
			}
			if peak > hostileMemory || effort.Exhaustive() && took > hostileTime {
				t.Errorf("%d MB and %v, more than %d MB or %v", peak>>20, took, hostileMemory>>20, hostileTime)
			}
		})
	}
}

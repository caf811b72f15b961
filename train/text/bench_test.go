package text

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device/cpu"
)

// prompts are the lines of the file that $HGLD_PROMPTS names (scripts/bench_text),
// by default labels of the same length made here.
func prompts(b *testing.B) []string {
	b.Helper()
	path := os.Getenv("HGLD_PROMPTS")
	if path == "" {
		kinds := []string{"church", "railway bridge", "town hall", "lighthouse", "national park", "castle ruin",
			"covered bridge"}
		var list []string
		for i := range 700 {
			list = append(list, "A picture of a "+kinds[i%len(kinds)]+" "+strconv.Itoa(i))
		}
		return list
	}
	data, err := os.ReadFile(path)
	must.Do(b, err)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// measured begins to measure; what it returns reports texts for each second, by the
// clock and of the processors, and the most memory that Go took from the system.
func measured(b *testing.B, texts int) (report func()) {
	begun, counted := cpuSeconds()
	return func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(texts*b.N)/b.Elapsed().Seconds(), "texts/s")
		if ended, _ := cpuSeconds(); counted && ended > begun {
			b.ReportMetric(float64(texts*b.N)/(ended-begun), "texts/CPU-s")
		}
		b.ReportMetric(float64(m.Sys)/1e6, "MB")
	}
}

// BenchmarkEncode reads the model in the folder $HGLD_MODEL, of CLIP or BERT, and
// encodes every text.
func BenchmarkEncode(b *testing.B) {
	folder := os.Getenv("HGLD_MODEL")
	if folder == "" {
		b.Skip("HGLD_MODEL names no folder of weights")
	}
	texts := prompts(b)
	threads, _ := strconv.Atoi(os.Getenv("HGLD_THREADS"))
	files := Files{Weights: filepath.Join(folder, "model.safetensors")}
	var encode func(context.Context, []string) ([][]float32, error)
	if e, err := OpenCLIP(cpu.New(threads), files, CLIPOptions{}); err == nil {
		encode = e.Encode
	} else if e, err := OpenBERT(cpu.New(threads), files); err == nil {
		encode = e.Encode
	} else {
		b.Fatal(err)
	}
	defer measured(b, len(texts))()
	for b.Loop() {
		if _, err := encode(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBPE tokenizes on one thread. "first" remembers no words.
func BenchmarkBPE(b *testing.B) {
	v, err := NewBPE()
	must.Do(b, err)
	texts := prompts(b)
	encode := v.Encoder(77)
	b.Run("first", func(b *testing.B) {
		defer measured(b, len(texts))()
		for b.Loop() {
			encode := v.Encoder(77)
			for _, t := range texts {
				encode(t)
			}
		}
	})
	b.Run("known", func(b *testing.B) {
		defer measured(b, len(texts))()
		for b.Loop() {
			for _, t := range texts {
				encode(t)
			}
		}
	})
}

// BenchmarkWordPiece tokenizes on one thread with the vocabulary in $HGLD_MODEL.
func BenchmarkWordPiece(b *testing.B) {
	vocabulary, err := os.ReadFile(filepath.Join(os.Getenv("HGLD_MODEL"), "vocab.txt"))
	if err != nil {
		b.Skip(err)
	}
	w, err := NewWordPiece(vocabulary, true, 256)
	must.Do(b, err)
	texts := prompts(b)
	defer measured(b, len(texts))()
	for b.Loop() {
		encode := w.Encoder()
		for _, t := range texts {
			encode(t)
		}
	}
}

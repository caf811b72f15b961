package main

import (
	"math/rand/v2"
	"os"
	"testing"
)

// recordedFile writes a file and the stamp of the stage that wrote it.
func recordedFile(t *testing.T, j *job, s stage, path string, data []byte) {
	t.Helper()
	settings := s.settings()
	if err := j.project.load(nil, s.name, settings); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	_, out := s.files(settings)
	if err := s.record(j, settings, nil, out, false); err != nil {
		t.Fatal(err)
	}
}

// TestFlippedIntermediatesAreNamed flips bits in what the stages leave for each other.
func TestFlippedIntermediatesAreNamed(t *testing.T) {
	j := projectHere(t, "{}\n")
	rng := rand.New(rand.NewPCG(1, 2))
	for path, s := range map[string]stage{
		"tags.jsonl": scrapeStage(), "vectors.safetensors": embedStage(), "draft.json": clusterStage(),
		"hierarchy.json": curateStage(), "labels.csv": labelsStage(),
	} {
		data := make([]byte, 1+rng.IntN(5000))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		recordedFile(t, j, s, path, data)
		for range 100 {
			at, mask := rng.IntN(len(data)), byte(1)<<rng.IntN(8)
			data[at] ^= mask
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			if c, err := j.project.changeOf(path); err != nil || c == nil || c.by.name != s.name {
				t.Errorf("%s: byte %d changed by %#x: %+v, %v", path, at, mask, c, err)
			}
			data[at] ^= mask
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err := j.project.changeOf(path); c != nil || err != nil {
			t.Errorf("%s as it was: %+v, %v", path, c, err)
		}
	}
}

// A file that is too large for its fingerprint is compared by its contents as well: a
// disk that loses a bit does not change the time.
func TestLargeIntermediateIsComparedByItsContents(t *testing.T) {
	j := projectHere(t, "{}\n")
	data := make([]byte, wholeFile+1)
	recordedFile(t, j, embedStage(), "vectors.safetensors", data)
	was, err := os.Stat("vectors.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile("vectors.safetensors", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte{1}, 1<<20)
	if err != nil || f.Close() != nil || os.Chtimes("vectors.safetensors", was.ModTime(), was.ModTime()) != nil {
		t.Fatal("not changed", err)
	}
	c, err := j.project.changeOf("vectors.safetensors")
	if err != nil || c == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := c.accept(j.project); err != nil {
		t.Fatal(err)
	}
	if c, err := j.project.changeOf("vectors.safetensors"); c != nil || err != nil {
		t.Errorf("accepted: %+v, %v", c, err)
	}
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/ranks"
	"hgld/internal/ranks/launch"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/emu"
)

// onEmulatedCards returns a command of hgld on a machine with so many GPUs, in a process of its own.
func onEmulatedCards(t *testing.T, cards int, args ...string) *exec.Cmd {
	t.Helper()
	libs := emu.Build(t) + string(os.PathListSeparator) + emu.BuildVendor(t)
	self := must.Get(os.Executable())(t)
	cmd := &exec.Cmd{Path: self, Args: append([]string{"hgld"}, args...)}
	cmd.Env = append(os.Environ(), cuda.LibrariesVariable+"="+libs, "HGLD_EMU_DEVICES="+strconv.Itoa(cards))
	return cmd
}

// trainVectors trains on the files of embeddingFiles.
func trainVectors(t *testing.T, cards int, args ...string) (code int, said string) {
	t.Helper()
	cmd := onEmulatedCards(t, cards, append([]string{"train", "run", "--embeddings", "e.npy", "--labels", "l.csv",
		"--hold-out", "0", "-o", "model.dim=4", "-o", "model.standard=none", "-o", "sampler.batch=12", "-o", "sampler.m=4",
		"-o", "steps=3"}, args...)...)
	out, err := cmd.CombinedOutput()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// lastWeights returns the weights after the third step.
func lastWeights(t *testing.T, run string) []byte {
	t.Helper()
	weights := must.Get(os.ReadFile(run + "/checkpoints/step-00000003/model.safetensors"))(t)
	return weights
}

// One command starts a process for each GPU, however they are named.
func TestCardsOfOneMachineTrainTogether(t *testing.T) {
	embeddingFiles(t)
	for _, name := range []string{"cuda:0-2", "cuda:all"} {
		code, said := trainVectors(t, 3, "--out", "runs/"+name, "--device", name)
		if code != exitOK || !strings.Contains(said, "3 GPUs work together, started by hgld; NCCL 2.27.7") {
			t.Fatalf("%s: exit code %d\n%s", name, code, said)
		}
	}
	if !bytes.Equal(lastWeights(t, "runs/cuda:0-2"), lastWeights(t, "runs/cuda:all")) {
		t.Error("the weights of equal runs differ")
	}
	code, said := trainVectors(t, 1, "--out", "runs/one", "--device", "cuda:all")
	if code != exitOK || strings.Contains(said, "together") {
		t.Errorf("one GPU: exit code %d\n%s", code, said)
	}
}

// What one process finds out is told once, by its rank, and all end.
func TestProcessOfACardThatCannotTrainIsNamed(t *testing.T) {
	embeddingFiles(t)
	code, said := trainVectors(t, 2, "--out", "runs/a", "--device", "cuda:0,7")
	for _, want := range []string{
		"hgld: rank 1: device cuda:7: cuda: no usable CUDA device: there is no GPU 7, the driver has 2",
		"hgld: rank 1 (process ", ") has ended: exit status 6",
	} {
		if strings.Count(said, want) != 1 {
			t.Errorf("not once %q", want)
		}
	}
	if code != exitNoGPU || t.Failed() {
		t.Errorf("exit code %d\n%s", code, said)
	}
	code, said = trainVectors(t, 2, "--out", "runs/a", "--device", "cuda:0-1", "-o", "sampler.batch=15", "-o",
		"sampler.m=3")
	want := "sampler.batch is 15, want a multiple of the 2 processes"
	if code != exitUsage || strings.Count(said, want) != 1 {
		t.Errorf("exit code %d, want %q once\n%s", code, want, said)
	}
}

func TestDoctorFindsNCCL(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := onEmulatedCards(t, 2, "doctor").CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "ok nccl           2.27.7, ") || !strings.Contains(said, "; cuda:1 ") {
		t.Errorf("%v\n%s", err, out)
	}
	cmd := onEmulatedCards(t, 2, "doctor")
	cmd.Env = append(cmd.Env, "HGLD_EMU_NCCL_VERSION=2804")
	out, err = cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "is NCCL 2.8.4, want 2.9.6 or later") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSeveralCardsAreForTrainingOnly(t *testing.T) {
	embeddingFiles(t)
	f := &fakeCards{}
	code, errs := evaluate(t, f.kinds(), "--device", "cuda:0-1")
	const several = "is several GPUs, which only train, embed-images and eval run --run can"
	if code != exitUsage || !strings.Contains(errs, several) {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, errs = evaluate(t, f.kinds(), "--device", "cuda:1-0")
	if code != exitUsage || !strings.Contains(errs, "--device: device \"cuda:1-0\": want numbers and ranges") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// A process that a launcher started takes the GPU with its number on the machine, unless it has only one.
func TestRankTakesItsCard(t *testing.T) {
	for _, c := range []struct {
		cards, local int
		name, want   string
	}{
		{4, 2, "auto", "cuda:2"}, {4, 3, "cuda", "cuda:3"}, {4, 1, "cuda:0", "cuda:0"}, {1, 1, "cuda", "cuda"},
		{4, 1, "cpu", "cpu"}, {0, 1, "auto", "auto"}, {2, 2, "auto", ""},
	} {
		j := &job{ranks: &ranks.Process{Place: &launch.Place{Rank: 5, Local: c.local, Ranks: 8}}}
		j.cards = []device.Kind{{Name: "cuda", Usable: func() ([]int, error) { return []int{0, 1, 2, 3}[:c.cards], nil }}}
		got, err := j.cardOf(c.name)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s, process %d of %d GPUs: %q, %v; want %q", c.name, c.local, c.cards, got, err, c.want)
		}
	}
}

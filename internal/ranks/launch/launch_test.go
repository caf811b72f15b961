package launch

import (
	"strings"
	"testing"
)

// env reads A=1 B=2.
func env(text string) func(string) string {
	return func(name string) string {
		for field := range strings.FieldsSeq(text) {
			if key, value, _ := strings.Cut(field, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func TestPlaceComesFromTheLauncher(t *testing.T) {
	for text, want := range map[string]Place{
		"RANK=3 WORLD_SIZE=8 LOCAL_RANK=1 MASTER_ADDR=n1 MASTER_PORT=29400": {3, 8, 1, "n1:29400", "torchrun", ""},
		"RANK=1 WORLD_SIZE=2 MASTER_ADDR=[::1] MASTER_PORT=7":               {1, 2, 0, "[::1]:7", "torchrun", ""},
		"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=n1 MASTER_PORT=7 TORCHELASTIC_RUN_ID=x": {0, 2, 0, "n1:8",
			"torchrun", "TORCHELASTIC_RUN_ID=x"},
		"RANK=11 WORLD_SIZE=16 LOCAL_RANK=3 MASTER_ADDR=n1 MASTER_PORT=7 JOB_COMPLETION_INDEX=1": {11, 16, 3, "n1:7",
			"torchrun", ""},
		"HGLD_RANK=1 HGLD_RANK_COUNT=4 HGLD_RANK_ADDRESS=127.0.0.1:7 RANK=0 WORLD_SIZE=2 JOB_COMPLETION_INDEX=0": {1, 4, 1,
			"127.0.0.1:7", "hgld", ""},
		"JOB_COMPLETION_INDEX=1 WORLD_SIZE=2 MASTER_ADDR=train-0.train": {1, 2, 0,
			"train-0.train:29500", "Kubernetes", ""},
		"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1": {1, 2, 1, "", "mpirun", ""},
		"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1":                                    {1, 2, 1, "", "mpiexec", ""},
		"SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=0 SLURM_JOB_ID=70012 PMI_RANK=2": {2, 4, 0, "", "srun",
			"SLURM_JOB_ID=70012"},
		"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 PMI_RANK=1 PMI_SIZE=4": {1, 4, 0, "", "mpiexec", ""},
		"SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 SLURM_JOB_ID=70012 SLURM_STEP_ID=3 SLURM_STEP_NODELIST=n[07-9]": {2, 4, 0,
			"n07:23039", "srun", "SLURM_JOB_ID=70012 SLURM_STEP_ID=3"},
	} {
		got, err := Find(env(text))
		if err != nil || got == nil || *got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestStartedProcessFindsItsPlace(t *testing.T) {
	want := Place{Rank: 2, Ranks: 3, Local: 2, Address: "127.0.0.1:4711", Launcher: Own}
	if got, err := Find(env(strings.Join(want.Variables(), " "))); err != nil || got == nil || *got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestProcessIsAlone(t *testing.T) {
	for _, text := range []string{
		"", "SLURM_PROCID=0 SLURM_NTASKS=4", "RANK=0 WORLD_SIZE=1", "JOB_COMPLETION_INDEX=3",
		"RANK=1 WORLD_SIZE=2 HGLD_RANKS=off", "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1",
	} {
		if got, err := Find(env(text)); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestWrongVariablesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"RANK=x WORLD_SIZE=2": "RANK",
		"RANK=2 WORLD_SIZE=2": "smaller",
		"RANK=1 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=99999":          "MASTER_PORT",
		"RANK=1 WORLD_SIZE=2 HGLD_RANKS=yes":                           "HGLD_RANKS",
		"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NODELIST=n[": "list of nodes",
	} {
		if _, err := Find(env(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestFirstHostOfAList(t *testing.T) {
	for list, want := range map[string]string{
		"n1": "n1", "n1,n2": "n1", "n[01-03,7],m2": "n01", "m2,n[1-2]": "m2", "rack1-n[7,9]-ib": "rack1-n7-ib",
	} {
		if got, err := FirstHost(list); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", list, got, err, want)
		}
	}
}

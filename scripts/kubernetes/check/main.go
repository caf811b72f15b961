// Check decodes Job manifests strictly, by the types of k8s.io/api: an unknown field or a wrong type is an error. Then
// it runs their commands as pods would run: an indexed Job once for each index, with JOB_COMPLETION_INDEX, again after
// exit codes that its failure policy counts. The first pod of the second index is killed.
//
//	check HGLD FOLDER MANIFEST…    FOLDER stands for the claim; an emptyDir is a new folder for each pod
//
// It is a module of its own, so that hgld does not depend on Kubernetes.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) < 4 {
		fail(errors.New("usage: check HGLD FOLDER MANIFEST…"))
	}
	for _, file := range os.Args[3:] {
		text, err := os.ReadFile(file)
		if err != nil {
			fail(err)
		}
		job, err := decode(text)
		if err != nil {
			fail(fmt.Errorf("%s: %w", file, err))
		}
		if err := strict(text); err != nil {
			fail(fmt.Errorf("%s: %w", file, err))
		}
		if err := run(job, os.Args[1], os.Args[2]); err != nil {
			fail(fmt.Errorf("%s: %w", file, err))
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "check:", err)
	os.Exit(1)
}

func decode(text []byte) (*batch.Job, error) {
	job := &batch.Job{}
	if err := yaml.UnmarshalStrict(text, job, yaml.DisallowUnknownFields); err != nil {
		return nil, err
	}
	if job.Kind != "Job" || job.APIVersion != "batch/v1" || len(job.Spec.Template.Spec.Containers) != 1 {
		return nil, fmt.Errorf("%s of %s; want a Job of batch/v1 with one container", job.Kind, job.APIVersion)
	}
	return job, nil
}

// strict checks that a misspelt field is refused, wherever it stands.
func strict(text []byte) error {
	for _, field := range []string{"backoffLimit", "restartPolicy", "mountPath", "onExitCodes"} {
		if wrong := bytes.Replace(text, []byte(field), []byte(field+"s"), 1); !bytes.Equal(wrong, text) {
			if _, err := decode(wrong); err == nil {
				return fmt.Errorf("%ss was not refused", field)
			}
		}
	}
	return nil
}

// run runs the pods of a Job.
func run(job *batch.Job, program, folder string) error {
	indexes, again := 1, 0
	if job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batch.IndexedCompletion {
		indexes, again = int(*job.Spec.Completions), int(*job.Spec.BackoffLimitPerIndex)
	}
	for i := range indexes {
		for try := 0; ; try++ {
			code, last := pod(job, program, folder, i, i == 1 && try == 0)
			fmt.Printf("%s, pod %d of index %d: exit code %d: %s\n", job.Name, try+1, i, code, last)
			if code == 0 {
				break
			}
			if action := policy(job, code); action != batch.PodFailurePolicyActionCount || try == again {
				return fmt.Errorf("index %d failed with exit code %d, action %q", i, code, action)
			}
		}
	}
	return nil
}

// policy returns what the Job does after an exit code.
func policy(job *batch.Job, code int) batch.PodFailurePolicyAction {
	for _, r := range job.Spec.PodFailurePolicy.Rules {
		if r.OnExitCodes != nil && slices.Contains(r.OnExitCodes.Values, int32(code)) {
			return r.Action
		}
	}
	return "" // counted by Kubernetes, but the manifests name every code of hgld that they expect
}

// mounted returns the folders that stand for the volumes of a pod, by the paths where they are mounted.
func mounted(job *batch.Job, claim string) (folders map[string]string, remove func()) {
	folders, own := map[string]string{}, []string{}
	spec := job.Spec.Template.Spec
	for _, m := range spec.Containers[0].VolumeMounts {
		for _, v := range spec.Volumes {
			switch {
			case v.Name != m.Name:
			case v.EmptyDir != nil:
				dir, err := os.MkdirTemp("", "pod")
				if err != nil {
					fail(err)
				}
				folders[m.MountPath], own = dir, append(own, dir)
			case v.PersistentVolumeClaim != nil:
				folders[m.MountPath] = claim
			}
		}
	}
	return folders, func() {
		for _, dir := range own {
			os.RemoveAll(dir)
		}
	}
}

// pod runs the command of a container and returns its exit code and its last line.
func pod(job *batch.Job, program, folder string, index int, kill bool) (int, string) {
	c := job.Spec.Template.Spec.Containers[0]
	mounts, remove := mounted(job, folder)
	defer remove()
	var args []string
	for _, arg := range append(slices.Clone(c.Command[1:]), c.Args...) {
		if at := strings.SplitN(arg, "/", 3); at[0] == "" && len(at) > 1 {
			root, known := mounts["/"+at[1]]
			if !known {
				fail(fmt.Errorf("%s: no volume is mounted at /%s", arg, at[1]))
			}
			arg = strings.Join(append([]string{root}, at[2:]...), "/")
		}
		args = append(args, arg)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	if kill {
		time.AfterFunc(300*time.Millisecond, func() { cmd.Process.Kill() })
	}
	err := cmd.Wait()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, lines[len(lines)-1]
	case !errors.As(err, &exit):
		fail(err)
	case exit.ExitCode() < 0: // a signal, which Kubernetes shows as 128 and its number
		return 137, lines[len(lines)-1]
	}
	return exit.ExitCode(), lines[len(lines)-1]
}

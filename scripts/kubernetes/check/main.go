// Check decodes Job manifests strictly, by the types of k8s.io/api: an unknown field or a wrong type is an error. Then
// it runs their commands as pods would run: an indexed Job once for each index, with JOB_COMPLETION_INDEX, again after
// exit codes that its failure policy counts. The first pod of the second index is killed.
//
//	check FOLDER MANIFEST…    FOLDER stands for the claim; an emptyDir is a new folder for each pod
//
// hgld is that of $PATH. The pods of a Job with a Service run at once, the last one late, and meet at pod 0: they run
// the command of $INSTEAD, since there are no GPUs.
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
	"syscall"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) < 3 {
		fail(errors.New("usage: check FOLDER MANIFEST…"))
	}
	for _, file := range os.Args[2:] {
		text, err := os.ReadFile(file)
		if err != nil {
			fail(err)
		}
		job, service, err := decode(text)
		if err != nil {
			fail(fmt.Errorf("%s: %w", file, err))
		}
		if err := strict(text); err != nil {
			fail(fmt.Errorf("%s: %w", file, err))
		}
		if service != nil {
			err = together(job, service, os.Args[1])
		} else {
			err = run(job, os.Args[1])
		}
		if err != nil {
			fail(fmt.Errorf("%s: %w", file, err))
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "check:", err)
	os.Exit(1)
}

// decode reads a Job, which a Service may precede.
func decode(text []byte) (*batch.Job, *core.Service, error) {
	job := &batch.Job{}
	var service *core.Service
	parts := bytes.Split(text, []byte("\n---\n"))
	if len(parts) == 2 {
		service = &core.Service{}
		if err := yaml.UnmarshalStrict(parts[0], service, yaml.DisallowUnknownFields); err != nil {
			return nil, nil, err
		}
		if service.Kind != "Service" || service.APIVersion != "v1" {
			return nil, nil, fmt.Errorf("%s of %s; want a Service of v1", service.Kind, service.APIVersion)
		}
	}
	if err := yaml.UnmarshalStrict(parts[len(parts)-1], job, yaml.DisallowUnknownFields); err != nil {
		return nil, nil, err
	}
	if job.Kind != "Job" || job.APIVersion != "batch/v1" || len(job.Spec.Template.Spec.Containers) != 1 {
		return nil, nil, fmt.Errorf("%s of %s; want a Job of batch/v1 with one container", job.Kind, job.APIVersion)
	}
	return job, service, nil
}

// together runs the pods of a Job that meet, of which the last one comes late.
func together(job *batch.Job, service *core.Service, folder string) error {
	spec, n := job.Spec.Template.Spec, int(*job.Spec.Completions)
	var env []string
	given := map[string]string{}
	for _, v := range spec.Containers[0].Env {
		given[v.Name] = v.Value
		if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			v.Value = "the secret " + v.ValueFrom.SecretKeyRef.Name
		}
		if v.Name == "MASTER_ADDR" {
			v.Value = "127.0.0.1"
		}
		env = append(env, v.Name+"="+v.Value)
	}
	if want := job.Name + "-0." + service.Name; given["MASTER_ADDR"] != want || spec.Subdomain != service.Name ||
		service.Spec.ClusterIP != core.ClusterIPNone || !service.Spec.PublishNotReadyAddresses ||
		service.Spec.Selector["job-name"] != job.Name || given["WORLD_SIZE"] != fmt.Sprint(n) ||
		int(*job.Spec.Parallelism) != n {
		return fmt.Errorf("pod 0 is %s in the subdomain %s, and there are %d pods: MASTER_ADDR is %s, WORLD_SIZE %s", want,
			spec.Subdomain, n, given["MASTER_ADDR"], given["WORLD_SIZE"])
	}
	codes := make(chan error, n)
	for i := range n {
		go func() {
			if i == n-1 {
				time.Sleep(5 * time.Second)
			}
			cmd := exec.Command("hgld", strings.Fields(os.Getenv("INSTEAD"))...)
			cmd.Dir, cmd.Env = folder, append(append(os.Environ(), env...), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i))
			out, err := cmd.CombinedOutput()
			fmt.Printf("%s, pod of index %d: %v %s\n", job.Name, i, err, bytes.TrimSpace(out))
			codes <- err
		}()
	}
	var failed error
	for range n {
		failed = errors.Join(failed, <-codes)
	}
	return failed
}

// strict checks that a misspelt field is refused, wherever it stands.
func strict(text []byte) error {
	for _, field := range []string{"backoffLimit", "restartPolicy", "mountPath", "onExitCodes"} {
		if wrong := bytes.Replace(text, []byte(field), []byte(field+"s"), 1); !bytes.Equal(wrong, text) {
			if _, _, err := decode(wrong); err == nil {
				return fmt.Errorf("%ss was not refused", field)
			}
		}
	}
	return nil
}

// run runs the pods of a Job.
func run(job *batch.Job, folder string) error {
	indexes, again := 1, 0
	if job.Spec.CompletionMode != nil && *job.Spec.CompletionMode == batch.IndexedCompletion {
		indexes, again = int(*job.Spec.Completions), int(*job.Spec.BackoffLimitPerIndex)
	}
	for i := range indexes {
		for try := 0; ; try++ {
			code, last := pod(job, folder, i, i == 1 && try == 0)
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
func pod(job *batch.Job, folder string, index int, kill bool) (int, string) {
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
	cmd := exec.Command(c.Command[0], args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // of which a kill ends all, as of a container
	cmd.Env = append(os.Environ(), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	if kill {
		time.AfterFunc(300*time.Millisecond, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
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

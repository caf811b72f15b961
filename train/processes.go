package train

import (
	"fmt"

	"hgld/train/external"
	"hgld/train/loss"
)

// processFile is the file of a checkpoint with the state of external loss i.
func processFile(i int) string { return fmt.Sprintf("external-%d.safetensors", i) }

// CommandError says that a configuration has an external loss, and nobody has allowed its command.
type CommandError struct{ Command []string }

// Error shows the command.
func (e *CommandError) Error() string {
	return "train: loss external runs a command of the configuration, which is not allowed yet: " +
		external.Words(e.Command)
}

// Commands returns the commands of external losses.
func (r *Run) Commands() (list [][]string) {
	for _, l := range loss.Externals(r.step.objective.loss) {
		list = append(list, l.Kind.Command)
	}
	return list
}

// startProcesses starts the processes of external losses, unless the run computes nothing.
func (r *Run) startProcesses() error {
	list := loss.Externals(r.step.objective.loss)
	if len(list) == 0 || r.o.blank {
		return nil
	}
	if n := r.network.ranks.count(); n > 1 {
		return &ConfigError{fmt.Errorf("loss external trains in one process, and these are %d: each would start a program "+
			"with a state of its own", n)}
	}
	if !r.o.AllowCommand {
		return &CommandError{list[0].Kind.Command}
	}
	if err := r.step.objective.start(r.o.CommandDir, r.config.Seed); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	return nil
}

// start starts the processes of external losses, in a folder.
func (o *objective) start(folder string, seed uint64) error {
	for _, l := range loss.Externals(o.loss) {
		p, err := external.Start(l, folder, seed)
		if err != nil {
			return err
		}
		l.Process = p
		o.processes = append(o.processes, p)
	}
	return nil
}

// err returns the failure of a process.
func (o *objective) err() error {
	for _, l := range loss.Externals(o.loss) {
		if err := l.Err(); err != nil {
			return err
		}
	}
	return nil
}

// states asks the processes for their states.
func (o *objective) states() (list [][]byte, err error) {
	for _, p := range o.processes {
		state, err := p.State()
		if err != nil {
			return nil, err
		}
		list = append(list, state)
	}
	return list, nil
}

// close ends the processes.
func (o *objective) close() {
	for _, p := range o.processes {
		p.Close()
	}
}

package main

import (
	"errors"

	"github.com/urfave/cli/v2"
)

// anyNumber is the upper limit for commands that take any number of arguments.
const anyNumber = 1 << 30

// jobWith calls newJob for a command that takes least to most arguments. It returns a
// usage error for any other number; what names the arguments in that error.
func jobWith(c *cli.Context, least, most int, what string) (*job, error) {
	j, err := newJob(c)
	if err != nil {
		return nil, err
	}
	if n := len(j.args); n < least || n > most {
		return nil, usagef("%s takes %s; got %s", commandPath(c), what, count(n, "argument"))
	}
	return j, nil
}

// action returns the action of a command that runs in a project. It passes the opened
// project to run, and releases the devices that run opened when run returns.
func action(run func(*cli.Context, *job) error) cli.ActionFunc { return taking(0, anyNumber, "", run) }

// taking is like action, for a command that takes least to most arguments. what names the
// arguments in the error for any other number.
func taking(least, most int, what string, run func(*cli.Context, *job) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		j, err := jobWith(c, least, most, what)
		if err != nil {
			return err
		}
		return errors.Join(run(c, j), j.Close())
	}
}

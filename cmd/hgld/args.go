package main

import (
	"errors"

	"github.com/urfave/cli/v2"
)

// anyNumber is the most arguments of a command that takes any number of them.
const anyNumber = 1 << 30

// jobWith is newJob for a command that takes from least to most arguments. what names
// them, for the error of any other number.
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

// action makes the action of a command in a project. run gets the opened project, and
// the devices that it opens are released when it returns.
func action(run func(*cli.Context, *job) error) cli.ActionFunc { return taking(0, anyNumber, "", run) }

// taking is action for a command that takes from least to most arguments. what names
// them, for the error of any other number.
func taking(least, most int, what string, run func(*cli.Context, *job) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		j, err := jobWith(c, least, most, what)
		if err != nil {
			return err
		}
		return errors.Join(run(c, j), j.Close())
	}
}

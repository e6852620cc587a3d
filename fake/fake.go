// Package fake provides scripted models and tools that reproduce provider and tool
// failures, and a virtual clock that makes a run a function of its inputs.
//
//   - [Clock] runs tasks one at a time in a fixed order. Its time passes only while all
//     tasks wait.
//   - [Model] responds to requests by script: by session, response and attempt.
//   - [Tools] runs scripted tools and logs when each call starts and ends.
//   - [Script] contains all of these. [ParseScript] reads it from a scenario file.
//
// A script is sent as it is written, also if it is invalid. A [Model] checks a request
// only if the script expects something of it. Package loop/scenario interprets the loop
// options of a script.
package fake

// Package fake has scripted models and tools that misbehave on demand, and a
// virtual clock that makes a run a function of its inputs.
//
//   - Clock runs tasks one at a time, in an order that depends on nothing but
//     what they do, and moves its time only when all of them wait.
//   - Model answers requests by script: by lane, turn and attempt.
//   - Tools runs scripted tools and keeps a log of who was in which, when.
//   - Script is all of it in one value, and ParseScript reads it from the YAML
//     of a scenario file.
//
// What is sent is what the script says, wrong or not: the package mends nothing
// and judges nothing but requests that the script did not expect. It knows no
// loop; what a scenario's loop options mean is for others to say.
package fake

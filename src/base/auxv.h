/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values of the auxiliary vector, as getauxval() has them, kept from the first call on: the vector lies on the stack that the
 * program began on, and a program that went over to another one may have unmapped that.
 */
unsigned long aif_auxv(unsigned long type);

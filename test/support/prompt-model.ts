export {promptModel, said} from '../../runtime/testing.ts'
